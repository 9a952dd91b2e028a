"""Whom a proposal descends from where populations breed, as in REvolve (Hazra et al., 2025)."""

import random

from rewardsmith.config import ProposeConfig
from rewardsmith.services.models.base import CandidateRecord, ProposeRequest
from rewardsmith.services.models.islands import of_island

_DECAY = 0.6
"""How much rarer each next-best candidate is drawn."""


def breeds(config: ProposeConfig) -> bool:
    """Return whether proposals have parents of their own instead of one conversation for all."""
    return config.islands > 1 or bool(config.crossover)


def draw_parents(request: ProposeRequest, index: int, config: ProposeConfig) -> tuple[CandidateRecord, ...]:
    """Return two parents to join, one to vary, or none where the island has no judged candidate yet.

    Args:
        request: all judged candidates stand in its history.
        index: of the proposal; islands take turns.
        config: islands, and the share of proposals that join two.
    """
    judged = [
        record
        for record in of_island(request.history, index % config.islands, config.islands)
        if record.fitness is not None and record.failure is None
    ]
    judged.sort(key=lambda record: (record.fitness or 0.0, record.progress or 0.0), reverse=True)
    if not judged:
        return ()
    rng = random.Random(f"{request.seed}/{index}")
    weights = [_DECAY**rank for rank in range(len(judged))]
    first = rng.choices(judged, weights)[0]
    others = [record for record in judged if record.id != first.id]
    if others and rng.random() < (config.crossover or 0.0):
        second = rng.choices(others, [_DECAY**rank for rank in range(len(others))])[0]
        return first, second
    return (first,)
