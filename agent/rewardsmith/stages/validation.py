"""Does a candidate keep the reward contract? Asked in the box, on recorded transitions."""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardsmith.contract.shaping import shaping_reward
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.sandbox.base import RewardProcess
from rewardsmith.types import FloatArray, RewardAnswer, Transitions

N_ROWS = 256
MAX_CPU_S = 0.1
"""CPU seconds for `N_ROWS` rows."""
_MAX_WALL_S = 1.0
_RTOL, _ATOL = 1e-9, 1e-12

Rows = slice | npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What validation learnt of a candidate that passed.

    Attributes:
        reward: its reward of the sample, shape `(n,)`.
        components: names of its components.
        is_constant: whether it answered one value everywhere: allowed, but it teaches nothing.
    """

    reward: FloatArray
    components: tuple[str, ...]
    is_constant: bool


def validate(process: RewardProcess, sample: Transitions, shaping_gamma: float | None = None) -> Validation:
    """Check the reward contract on a sample of transitions.

    Args:
        process: the candidate in its box; it checks shape, dtype, finiteness and magnitude of each answer.
        sample: some 256 transitions, a few of them terminated.
        shaping_gamma: where the candidate is to be a potential, the learner's discount; the reward that is
            returned is then the shaping term.

    Raises:
        CandidateError: with a message for the coder.
        SandboxUnavailableError: the box itself failed.
    """
    started = time.perf_counter()
    first = process.call(sample)
    _check_time(first, time.perf_counter() - started, len(sample))
    process.call(sample.take(slice(0, None, 3)))
    # Twice: what alternates would answer every second call alike.
    _check_same(first, process.call(sample))
    _check_same(first, process.call(sample))
    _check_rows(process, sample, first)
    reward = (
        first.reward if shaping_gamma is None else _check_potential(process, sample, first, shaping_gamma)
    )
    return Validation(
        reward=reward,
        components=tuple(first.components),
        is_constant=bool(np.ptp(first.reward) == 0.0),
    )


def _check_potential(
    process: RewardProcess, sample: Transitions, answer: RewardAnswer, gamma: float
) -> FloatArray:
    """Check that the candidate is a potential, and that its reward says so; return the shaping term."""
    if not process.has_potential:
        raise CandidateError(FailureCode.SIGNATURE, "the code defines no function potential(state)")
    before, after = process.potential(sample.state), process.potential(sample.next_state)
    backwards = process.potential(sample.state[::-1])[::-1]
    if not np.allclose(before, backwards, rtol=_RTOL, atol=_ATOL):
        raise CandidateError(
            FailureCode.BATCH_INCONSISTENT,
            "the potential of a state depends on the other rows of its batch, or changes from call to call",
        )
    # Differences of large potentials lose digits.
    scale = max(1.0, float(np.abs(before).max()), float(np.abs(after).max()))
    if not np.allclose(answer.reward, after - before, rtol=1e-6, atol=1e-9 * scale):
        raise CandidateError(
            FailureCode.BAD_ANSWER,
            "compute_reward must return potential(next_state) - potential(state): recorded episodes are "
            "ranked by it, and the learner is paid by the potential",
        )
    return shaping_reward(before, after, sample.terminated, gamma)


def _check_time(answer: RewardAnswer, wall_s: float, n_rows: int) -> None:
    if answer.cpu_s > MAX_CPU_S or wall_s > _MAX_WALL_S:
        taken_ms = 1000 * (answer.cpu_s if answer.cpu_s > MAX_CPU_S else wall_s)
        raise CandidateError(
            FailureCode.SLOW,
            f"{n_rows} rows took {taken_ms:.0f} ms, the limit is {1000 * MAX_CPU_S:.0f} ms; "
            "use whole-array NumPy operations",
        )


def _check_same(first: RewardAnswer, again: RewardAnswer) -> None:
    if set(first.components) != set(again.components):
        raise CandidateError(FailureCode.BAD_ANSWER, "the component names change from call to call")
    if not _close(first, again, slice(None)):
        raise CandidateError(
            FailureCode.NON_DETERMINISTIC,
            "the same transitions got another reward when asked again; a reward must be a pure function: "
            "no randomness, no memory of earlier calls",
        )


def _check_rows(process: RewardProcess, sample: Transitions, whole: RewardAnswer) -> None:
    n = len(sample)
    subsets = [np.arange(n)[::-1], np.array([0]), np.array([n // 2]), np.array([n - 1])]
    for rows in subsets:
        part = process.call(sample.take(rows))
        if set(part.components) != set(whole.components) or not _close(whole, part, rows):
            raise CandidateError(
                FailureCode.BATCH_INCONSISTENT,
                "a transition's reward depends on the other rows of its batch; compute each row by itself: "
                "reduce over axis=-1, never over axis 0 or the whole array",
            )


def _close(whole: RewardAnswer, part: RewardAnswer, rows: Rows) -> bool:
    expected = [whole.reward[rows], *(whole.components[name][rows] for name in part.components)]
    found = [part.reward, *part.components.values()]
    return all(np.allclose(a, b, rtol=_RTOL, atol=_ATOL) for a, b in zip(expected, found, strict=True))
