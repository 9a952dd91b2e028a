"""The memory of failures: how earlier proposals went wrong, for a coder to avoid."""

from collections.abc import Iterable

from rewardsmith.errors import FailureCode
from rewardsmith.loop.candidates import Candidate
from rewardsmith.services.models.base import FailureNote

_NOT_ABOUT_CODE = frozenset(
    {FailureCode.MODEL_ERROR, FailureCode.EMPTY, FailureCode.REFUSED, FailureCode.DUPLICATE}
)
_SAME_CHARS = 60
"""Messages that begin alike are about the same mistake."""


def failure_notes(candidates: Iterable[Candidate], n_max: int) -> tuple[FailureNote, ...]:
    """Return the most frequent kinds of failure, of mended versions as well; of equals the latest first."""
    notes: dict[tuple[FailureCode, str], FailureNote] = {}
    for candidate in candidates:
        failed = [*candidate.mended]
        if candidate.failure is not None:
            failed.append((candidate.failure, candidate.message))
        for code, message in failed:
            if code not in _NOT_ABOUT_CODE:
                kind = (code, message[:_SAME_CHARS])
                earlier = notes.pop(kind, None)
                count = earlier.count + 1 if earlier else 1
                notes[kind] = FailureNote(code=code, message=message, count=count)
    ranked = sorted(reversed(notes.values()), key=lambda note: -note.count)
    return tuple(ranked[:n_max])
