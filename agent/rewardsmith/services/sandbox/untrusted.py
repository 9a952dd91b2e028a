"""Reads what an untrusted reward process says: text, names and numbers."""

import json
import re
import unicodedata

import numpy as np

from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.types import FloatArray
from rewardsmith.worker.reward.frame import MAX_COMPONENTS, MAX_ERROR_CHARS, MAX_MAGNITUDE, MAX_NAME_CHARS

_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_ ]{{0,{MAX_NAME_CHARS - 1}}}")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
    "\ud800-\udfff\U000e0000-\U000e01ef]"
)


_HIDDEN_CATEGORIES = frozenset({"Cf", "Cn", "Co", "Cs"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc")
"""Characters that show nothing although they count as letters, marks or symbols."""


def clean(data: bytes | str, limit: int = MAX_ERROR_CHARS) -> str:
    """Return text of an untrusted process without escapes and invisible characters, cut to `limit`."""
    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    text = _UNPRINTABLE.sub("", _ESCAPES.sub("", text))
    if not text.isascii():
        text = "".join(c for c in text if not _is_invisible(c))
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _is_invisible(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _HIDDEN_CATEGORIES


def parse_names(data: bytes) -> tuple[str, ...]:
    """Read component names from an untrusted process.

    Raises:
        CandidateError: the text is not a short list of different, well-formed names.
    """
    try:
        names = json.loads(data)
    except (ValueError, RecursionError):
        raise protocol_error("its component names are not JSON") from None
    if type(names) is not list or len(names) > MAX_COMPONENTS:
        raise protocol_error(f"its component names are not a list of at most {MAX_COMPONENTS}")
    for name in names:
        if type(name) is not str:
            raise protocol_error("a component name is not a string")
        if not _NAME.fullmatch(name):
            raise CandidateError(
                FailureCode.BAD_ANSWER,
                f"component name {clean(repr(name), 80)} is not allowed: a letter, then letters, digits, "
                f"spaces and underscores, {MAX_NAME_CHARS} characters at most",
            )
    if len(set(names)) != len(names):
        raise protocol_error("two components have the same name")
    return tuple(names)


def check_numbers(numbers: FloatArray, names: tuple[str, ...]) -> None:
    """Refuse numbers, one row per name, that are not finite or too large.

    Raises:
        CandidateError: says which, where and how many.
    """
    finite = np.isfinite(numbers)
    for bad, code, what in (
        (~finite, FailureCode.NON_FINITE, "not finite (NaN or infinite)"),
        (np.abs(numbers) > MAX_MAGNITUDE, FailureCode.MAGNITUDE, f"larger than {MAX_MAGNITUDE:g}"),
    ):
        for name, row, values in zip(names, bad, numbers, strict=True):
            if row.any():
                first = int(np.argmax(row))
                raise CandidateError(
                    code,
                    f"{name} is {what} in {int(row.sum())} of {len(row)} rows, first in row {first} "
                    f"({values[first]:g})",
                )


def protocol_error(what: str) -> CandidateError:
    """Return the error for a process that does not keep to the frames."""
    return CandidateError(FailureCode.PROTOCOL, f"the reward process broke the protocol: {what}")
