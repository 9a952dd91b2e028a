"""Trajectory-preference evaluation (TPE): how well does a reward order trajectories that were judged?

CARD (Sun et al., 2025) ranks by success alone and asks for a strict order. Here better means higher fitness
and, between equals, higher progress, and the score is the share of pairs ordered rightly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rewardsmith.types import BoolArray, FloatArray

MAX_PAIRS = 20_000
_CHUNK = 64


@dataclass(frozen=True)
class PreferencePairs:
    """Pairs of trajectories of which one is known to be better.

    Attributes:
        better: index of the better trajectory of each pair, shape `(n_pairs,)`.
        worse: index of the other.
    """

    better: npt.NDArray[Any]
    worse: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.better)


def preference_pairs(fitness: FloatArray, progress: FloatArray | None, min_gap: float) -> PreferencePairs:
    """Return every pair that differs, at most `MAX_PAIRS` of them, drawn evenly.

    Args:
        fitness: of each trajectory, shape `(n,)`.
        progress: of each trajectory, shape `(n,)`, or None; decides between equal fitness.
        min_gap: pairs of equal fitness are left out where their progress differs by less.
    """
    higher = fitness[:, None] > fitness[None, :]
    if progress is not None:
        equal = fitness[:, None] == fitness[None, :]
        gap = progress[:, None] - progress[None, :]
        higher |= equal & (gap > 0.0) & (gap >= min_gap)
    return _at_most(higher)


def success_pairs(success: BoolArray, failure: BoolArray) -> PreferencePairs:
    """Return every pair of a success and a failure, at most `MAX_PAIRS` of them, drawn evenly.

    Args:
        success: whether each trajectory is known to be one, shape `(n,)`.
        failure: whether it is known to be none; what is neither stands in no pair.
    """
    return _at_most(success[:, None] & failure[None, :])


def _at_most(higher: BoolArray) -> PreferencePairs:
    """Return the pairs of a table of who is better than whom, evenly thinned out to `MAX_PAIRS`."""
    better, worse = np.nonzero(higher)
    if len(better) > MAX_PAIRS:
        kept = np.linspace(0, len(better) - 1, MAX_PAIRS).astype(np.intp)
        better, worse = better[kept], worse[kept]
    return PreferencePairs(better, worse)


def preference_accuracy(returns: FloatArray, pairs: PreferencePairs) -> FloatArray | None:
    """Share of pairs that each candidate's returns order rightly; ties count one half.

    Args:
        returns: undiscounted candidate returns, shape `(n_candidates, n_trajectories)`.
        pairs: of the same trajectories.

    Returns:
        Values in [0, 1], shape `(n_candidates,)`, or None where there is no pair: undetermined.
    """
    if not len(pairs):
        return None
    accuracy = np.empty(len(returns))
    for start in range(0, len(returns), _CHUNK):
        part = returns[start : start + _CHUNK]
        gap = part[:, pairs.better] - part[:, pairs.worse]
        # Sums in another order differ in their last bits; that must not decide between equals.
        scale = 1e-9 * np.maximum(np.abs(part).max(axis=1, keepdims=True), 1e-12)
        accuracy[start : start + _CHUNK] = np.mean(gap > scale, axis=1) + 0.5 * np.mean(
            np.abs(gap) <= scale, axis=1
        )
    return accuracy
