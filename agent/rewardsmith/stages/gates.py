"""The rules by which trajectory preference lets a candidate train, or not.

`pairwise` is ours, and `success` is the same where only success and failure are compared. The others are
CARD's (Sun et al., 2025): its paper asks that every success has a higher discounted return than every
failure; its released code takes the mean reward of a step and asks that 0.8 of the successes lie above the
highest failure. All three see success alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rewardsmith.config import GateConfig
from rewardsmith.stages.preference import (
    PreferencePairs,
    preference_accuracy,
    preference_pairs,
    success_pairs,
)
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import BoolArray, FloatArray

_NEEDED: dict[str, float | None] = {
    "pairwise": None,
    "success": None,
    "card_paper": 1.0,
    "card_code": 0.8,
    "none": 0.0,
}
"""The score that a candidate must reach, where the rule itself says so."""

GATE_KEYS = {
    "pairwise": "threshold",
    "success": "threshold",
    "card_paper": "rule",
    "card_code": "rule",
    "none": "rule",
}
"""The key of the method that sets what a candidate must reach."""

_IN_WORDS = {
    "pairwise": "the better of two must get the higher return in at least {needed:g} of all pairs",
    "success": "a success must get a higher return than a failure in at least {needed:g} of all pairs",
    "card_paper": "every success must have a higher discounted return than every failure",
    "card_code": "at least {needed:g} of the successes must have a higher mean reward than every failure",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What a rule says of candidates.

    Attributes:
        scores: of each candidate, in [0, 1]; None where the store leaves it undetermined, or by rule `none`.
        needed: the score that lets a candidate train.
        n_compared: pairs, or successes and failures, that were compared.
    """

    scores: FloatArray | None
    needed: float
    n_compared: int


def rate(returns: Sequence[FloatArray], store: TrajectoryStore, gate: GateConfig) -> Verdicts:
    """Score candidates by the method's rule.

    Args:
        returns: of each candidate on each trajectory of `store`, as `trajectory_returns` gives them.
        store: judged trajectories.
        gate: the rule.
    """
    if gate.rule == "none":
        return Verdicts(scores=None, needed=needed(gate), n_compared=0)
    if gate.rule in ("pairwise", "success"):
        pairs = _pairs(store, gate)
        enough = bool(returns) and len(pairs) >= gate.min_pairs
        scores = preference_accuracy(np.stack(returns), pairs) if enough else None
        return Verdicts(scores=scores, needed=needed(gate), n_compared=len(pairs))
    success, failure = _sides(store)
    n_compared = int(success.sum() + failure.sum())
    # One side alone says nothing of the order: never a pass.
    if not returns or not success.any() or not failure.any():
        return Verdicts(scores=None, needed=needed(gate), n_compared=n_compared)
    table = np.stack(returns)
    highest_failure = table[:, failure].max(axis=1, keepdims=True)
    above = table[:, success] > highest_failure
    scores = above.all(axis=1).astype(np.float64) if gate.rule == "card_paper" else above.mean(axis=1)
    return Verdicts(scores=scores, needed=needed(gate), n_compared=n_compared)


def _pairs(store: TrajectoryStore, gate: GateConfig) -> PreferencePairs:
    if gate.rule == "pairwise":
        return preference_pairs(store.fitness, store.progress, gate.min_gap)
    return success_pairs(*_sides(store))


def _sides(store: TrajectoryStore) -> tuple[BoolArray, BoolArray]:
    """Return which trajectories are successes and which are failures."""
    told = [t.success for t in store.trajectories]
    return np.array([s is True for s in told]), np.array([s is False for s in told])


def needed(gate: GateConfig) -> float:
    """Return the score that lets a candidate train; CARD's rules bring their own."""
    own = _NEEDED[gate.rule]
    return gate.threshold if own is None else own


def in_words(gate: GateConfig) -> str | None:
    """Return what a reward must do to recorded episodes to be trained, or None where nothing is asked."""
    text = _IN_WORDS.get(gate.rule)
    return text and text.format(needed=needed(gate))


def trajectory_returns(
    store: TrajectoryStore, reward: FloatArray, gate: GateConfig, gamma: float
) -> FloatArray:
    """Return what the rule compares of each trajectory.

    Args:
        store: the trajectories.
        reward: of every transition, shape `(n_transitions,)`.
        gate: the rule.
        gamma: discount of the task's learner, for `card_paper`.

    Returns:
        Shape `(n_trajectories,)`: sums; discounted sums for `card_paper`; means of a step for `card_code`.
    """
    if gate.rule == "card_code":
        return store.returns(reward) / store.lengths
    if gate.rule == "card_paper":
        return store.returns(reward * np.power(gamma, store.steps))
    return store.returns(reward)
