"""Islands: populations that breed apart, so that one early success does not become everyone's parent."""

from collections.abc import Iterable

from rewardsmith.services.models.base import CandidateRecord


def island_of(candidate_id: str, n_islands: int) -> int:
    """Return the island on which a candidate lives: proposals take turns."""
    return int(candidate_id.rpartition("c")[2]) % n_islands


def of_island(history: Iterable[CandidateRecord], island: int, n_islands: int) -> tuple[CandidateRecord, ...]:
    """Return the earlier candidates of one island."""
    return tuple(record for record in history if island_of(record.id, n_islands) == island)
