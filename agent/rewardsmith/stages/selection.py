"""Who trains, who goes on after a rung, which policy stands for a training, and who is best."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rewardsmith.config import GateConfig, SelectConfig, TrainConfig
from rewardsmith.stages.gates import needed
from rewardsmith.types import FloatArray

Checkpoint = Mapping[str, Any]
"""A judged policy as the journal records it: `step`, `fitness`, `progress`, `own_return`, ..."""

Score = tuple[float, float]
"""Mean fitness, then mean progress (0 for all where the task has none)."""


def choose_for_training(
    preference: Sequence[float | None], rewards: Sequence[FloatArray], gate: GateConfig, train: TrainConfig
) -> list[int]:
    """Return the indices of the candidates to train, best first.

    Args:
        preference: preference accuracy of each candidate; None where undetermined.
        rewards: reward of each candidate on the same sample of transitions, shape `(n_rows,)`.
        gate: who is let through.
        train: how many, and how different.
    """
    let_through = gate.rule == "none" or gate.when_undetermined == "train"
    least = needed(gate)
    passed = [i for i, p in enumerate(preference) if (let_through if p is None else p >= least)]
    passed.sort(key=lambda i: -_known(preference[i]))
    chosen: list[int] = []
    for i in passed:
        if len(chosen) == train.keep:
            break
        if all(abs(correlation(rewards[i], rewards[j])) <= train.max_correlation for j in chosen):
            chosen.append(i)
    return chosen


def correlation(a: FloatArray, b: FloatArray) -> float:
    """Return Pearson's correlation of two rewards; 0 where one of them is constant."""
    if np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
    return float(np.dot(a, b)) / norm if norm > 0.0 else 0.0


def score(checkpoint: Checkpoint) -> Score:
    """Return what a judged policy is ranked by."""
    fitness = mean(checkpoint["fitness"])
    if fitness is None or math.isnan(fitness):
        raise ValueError(f"the checkpoint at step {checkpoint['step']} has no fitness")
    return fitness, _known(mean(checkpoint["progress"]))


def standing_checkpoint(checkpoints: Sequence[Checkpoint], config: SelectConfig) -> Checkpoint:
    """Return the policy that stands for a training; of equals the earlier one."""
    if config.checkpoint == "last":
        return checkpoints[-1]
    if config.checkpoint == "own_return":
        return max(checkpoints, key=lambda c: -math.inf if c["own_return"] is None else c["own_return"])
    return max(checkpoints, key=score)


def n_kept(n: int, share: float) -> int:
    """Return how many of `n` go on after a rung; at least one."""
    # Less a trifle: 0.07 * 100 is a little more than 7.
    return max(1, math.ceil(share * n - 1e-9))


def survivors(scores: Mapping[str, Score], share: float) -> list[str]:
    """Return the ids that go on after a rung, in the order they were given; at least one."""
    ranked = sorted(scores, key=lambda key: scores[key], reverse=True)
    kept = set(ranked[: n_kept(len(scores), share)])
    return [key for key in scores if key in kept]


def summary(checkpoint: Checkpoint) -> dict[str, float | None]:
    """Return the means of a judged policy's episodes."""
    return {
        name: mean(checkpoint[name]) for name in ("fitness", "progress", "success", "success_last", "length")
    }


def mean(values: Sequence[float | bool | None]) -> float | None:
    """Return the mean of the known values, or None where there is none."""
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _known(value: float | None) -> float:
    return 0.0 if value is None else value
