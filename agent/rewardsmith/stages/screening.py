"""Screens many proposals in a few seconds: static checks, then the box, then a score on every trajectory."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rewardsmith.config import GateConfig
from rewardsmith.contract.static_checks import check_source
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.sandbox.base import RewardSpec, Sandbox, SandboxLimits
from rewardsmith.stages.gates import trajectory_returns
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.stages.validation import Validation, validate
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
    gate: GateConfig,
    gamma: float,
    workers: int,
    shaping: bool = False,
) -> list[Screened]:
    """Validate each source and let it score every trajectory of the store.

    A candidate's failure is a result; only a failure of the sandbox itself raises. What is computed of each
    trajectory is what `gate` compares; `gamma` is the discount of the task's learner. With `shaping`,
    candidates are to be potentials.

    Raises:
        SandboxUnavailableError: the box failed.
    """

    def one(source: str) -> Screened:
        try:
            validation, reward = _ask(
                source, sandbox, spec, limits, store, sample, gamma if shaping else None
            )
            returns = trajectory_returns(store, reward, gate, gamma)
            if not np.isfinite(returns).all():
                raise CandidateError(FailureCode.MAGNITUDE, "the return of a whole trajectory is not finite")
            return Screened(is_constant=validation.is_constant, returns=returns, reward=validation.reward)
        except CandidateError as error:
            return Screened(failure=error.code, message=error.message)

    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="screen") as pool:
        return list(pool.map(one, sources))


def _ask(
    source: str,
    sandbox: Sandbox,
    spec: RewardSpec,
    limits: SandboxLimits,
    store: TrajectoryStore,
    sample: Transitions,
    shaping_gamma: float | None,
) -> tuple[Validation, FloatArray]:
    """Validate one source, and return also its reward of every transition of the store."""
    check_source(source)
    process = sandbox.open(source, spec, limits)
    try:
        return validate(process, sample, shaping_gamma), process.call(store.transitions).reward
    finally:
        process.close()
