"""Screens many proposals in a few seconds: static checks, then the box, then a score on every trajectory."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rewardsmith.contract.static_checks import check_source
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.sandbox.base import RewardSpec, Sandbox, SandboxLimits
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.stages.validation import validate
from rewardsmith.types import FloatArray, Transitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What screening found out about one candidate.

    Attributes:
        failure: why it was turned down, or None.
        message: the text that goes with the failure.
        is_constant: whether it answered one value everywhere.
        returns: of each trajectory in the store, shape `(n_trajectories,)`; None where it failed.
        reward: of the validation sample, shape `(n_rows,)`; None where it failed.
    """

    failure: FailureCode | None = None
    message: str = ""
    is_constant: bool = False
    returns: FloatArray | None = None
    reward: FloatArray | None = None


def screen(
    sources: Sequence[str],
    *,
    sandbox: Sandbox,
    spec: RewardSpec,
    limits: SandboxLimits,
    store: TrajectoryStore,
    sample: Transitions,
    workers: int,
) -> list[Screened]:
    """Validate each source and let it score every trajectory of the store.

    A candidate's failure is a result; only a failure of the sandbox itself raises.

    Raises:
        SandboxUnavailableError: the box failed.
    """

    def one(source: str) -> Screened:
        try:
            return _screen_one(source, sandbox, spec, limits, store, sample)
        except CandidateError as error:
            return Screened(failure=error.code, message=error.message)

    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="screen") as pool:
        return list(pool.map(one, sources))


def _screen_one(
    source: str,
    sandbox: Sandbox,
    spec: RewardSpec,
    limits: SandboxLimits,
    store: TrajectoryStore,
    sample: Transitions,
) -> Screened:
    check_source(source)
    process = sandbox.open(source, spec, limits)
    try:
        validation = validate(process, sample)
        reward = process.call(store.transitions).reward
    finally:
        process.close()
    returns = store.returns(reward)
    if not np.isfinite(returns).all():
        raise CandidateError(FailureCode.MAGNITUDE, "the return of a whole trajectory is not finite")
    return Screened(is_constant=validation.is_constant, returns=returns, reward=validation.reward)
