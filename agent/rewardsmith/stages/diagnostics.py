"""What is known to go wrong with rewards, measured: hacking, domination, saturation, values without bound.

Sources: the Goodhart point after Karwowski et al. (2024, arXiv:2310.09144); bounded and saturating terms
after Fu et al. (2025, arXiv:2502.18770).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy import stats

from rewardsmith.contract.layout import StateLayout
from rewardsmith.errors import CandidateError
from rewardsmith.stages.selection import mean
from rewardsmith.types import FloatArray, RewardAnswer, Transitions

FAR = 10.0
"""Factor by which states are stretched to see whether a component is bounded."""
_GROWTH = 2.0
_DOMINATES = 0.9
_SATURATED = 0.9
_EDGE = 0.01
"""Of a component's range: values so near to an end of it stand at that end."""
_CONSTANT = 1e-12

Checkpoint = Mapping[str, Any]


def rank_correlation(checkpoints: Sequence[Checkpoint]) -> float | None:
    """Return Spearman's correlation of return and fitness over all judged episodes of a training.

    Between episodes of equal fitness the progress decides, as in trajectory preference.

    Returns:
        In [-1, 1]; None where either never changes, or the returns are not known.
    """
    rows = [row for c in checkpoints if c["return"] is not None for row in _episodes(c)]
    if not rows:
        return None
    returns, fitness, progress = (np.array(column) for column in zip(*rows, strict=True))
    merit = _ranks(fitness, progress)
    if np.ptp(returns) == 0.0 or np.ptp(merit) == 0.0:
        return None
    return float(stats.spearmanr(returns, merit).statistic)


def goodhart_step(checkpoints: Sequence[Checkpoint]) -> int | None:
    """Return the step after which the reward's own return went on rising and fitness fell.

    That is the checkpoint of the highest fitness, if a later one has a higher own return and a fitness that
    is lower by more than two standard errors.

    Returns:
        Policy steps, or None where there is no such point.
    """
    if not checkpoints:
        return None
    best = max(range(len(checkpoints)), key=lambda i: mean(checkpoints[i]["fitness"]) or 0.0)
    peak = checkpoints[best]
    for later in checkpoints[best + 1 :]:
        if peak["own_return"] is None or later["own_return"] is None:
            continue
        if later["own_return"] > peak["own_return"] and _fell(peak["fitness"], later["fitness"]):
            return int(peak["step"])
    return None


def stretched(batch: Transitions, layout: StateLayout) -> Transitions:
    """Return transitions with states `FAR` times as far from their middle, to look for missing bounds.

    States stay within the bounds that their fields declare: a cosine is never 10.
    """
    middle = np.median(batch.state, axis=0)
    low, high = (_bounds(layout, which) for which in ("low", "high"))

    def far(state: FloatArray) -> FloatArray:
        reached: FloatArray = np.clip(middle + FAR * (state - middle), low, high)
        # What was seen outside of its bounds is left there.
        return np.where((state < low) | (state > high), state, reached)

    return Transitions(
        state=far(batch.state),
        action=batch.action,
        next_state=far(batch.next_state),
        terminated=batch.terminated,
    )


def far_answer(
    call: Callable[[Transitions], RewardAnswer], batch: Transitions, layout: StateLayout
) -> RewardAnswer | None:
    """Ask about states that no one has seen; None where a candidate has no answer to that, as it may."""
    try:
        return call(stretched(batch, layout))
    except CandidateError:
        return None


def _bounds(layout: StateLayout, which: Literal["low", "high"]) -> FloatArray:
    """Return the declared bound of each number of a state; infinite where there is none."""
    none = -math.inf if which == "low" else math.inf
    values = [getattr(field, which) for field in layout.fields]
    bounds = [none if value is None else float(value) for value in values]
    return np.repeat(bounds, [field.size for field in layout.fields])


def shares(answer: RewardAnswer) -> dict[str, float]:
    """Return which share of the reward's variance each component brings.

    The shares add up to one where the components add up to the reward.
    """
    variance = float(np.var(answer.reward))
    if variance <= _CONSTANT:
        return {}
    centred = answer.reward - answer.reward.mean()
    return {name: float(np.mean(centred * values)) / variance for name, values in answer.components.items()}


def component_remarks(own: RewardAnswer, far: RewardAnswer | None) -> dict[str, list[str]]:
    """Return what is worth a remark of each component, in a few words each.

    Args:
        own: the candidate's answer on the rollouts of its policy.
        far: its answer on the same, `stretched`; None where it gave none.
    """
    brought = shares(own)
    found: dict[str, list[str]] = {}
    for name, values in own.components.items():
        remarks = []
        if np.ptp(values) <= _CONSTANT:
            remarks.append("constant in these rollouts")
        else:
            at_end = saturation(values)
            if at_end >= _SATURATED:
                remarks.append(f"saturated: at one end of its range in {at_end:.0%} of the steps")
        if len(own.components) > 1 and brought.get(name, 0.0) >= _DOMINATES:
            remarks.append("dominates the others")
        if far is not None and name in far.components and _grows(values, far.components[name]):
            remarks.append("grows without bound")
        found[name] = remarks
    return found


def saturation(values: FloatArray) -> float:
    """Return the larger share of the values that stand at either end of their range."""
    low, high = float(values.min()), float(values.max())
    edge = _EDGE * (high - low)
    return max(float(np.mean(values <= low + edge)), float(np.mean(values >= high - edge)))


def _grows(values: FloatArray, far: FloatArray) -> bool:
    return bool(np.abs(far).max() > _GROWTH * max(np.abs(values).max(), _CONSTANT))


def _episodes(checkpoint: Checkpoint) -> list[tuple[float, float, float]]:
    progress = [0.0 if value is None else value for value in checkpoint["progress"]]
    return list(zip(checkpoint["return"], checkpoint["fitness"], progress, strict=True))


def _ranks(fitness: FloatArray, progress: FloatArray) -> FloatArray:
    """Return where each episode stands, by fitness and then by progress; equals stand alike."""
    _, ranks = np.unique(np.stack([fitness, progress], axis=1), axis=0, return_inverse=True)
    return np.asarray(ranks, dtype=np.float64).reshape(-1)


def _fell(before: Sequence[float], after: Sequence[float]) -> bool:
    drop = float(np.mean(before) - np.mean(after))
    error = math.sqrt(sum(float(np.var(v, ddof=1)) / len(v) for v in (before, after) if len(v) > 1))
    return drop > 2.0 * error and drop > 0.0
