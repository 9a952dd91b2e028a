"""Names, kinds and units of state fields, guessed from words."""

import keyword
import re

from rewardsmith.contract.layout import FieldKind

MAX_NAME = 36
_DROPPED = frozenset(
    {"a", "an", "the", "of", "in", "to", "for", "from", "by", "at", "with", "and", "its", "is", "it", "be"}
    | {"if", "otherwise", "when", "whether", "which", "that", "this", "equal", "equals", "as", "value"}
    | {"values", "current", "default", "along", "relative", "own", "0", "1"}
)
_ASIDES = (
    r"\([^)]*\)",
    r"\bin (?:the )?(?:global|world|cartesian|mujoco) (?:coordinates?|frame|simulation)\b",
    r"\bwith respect to\b.*",
    r"\b(?:direction|coordinates?|axis|component)\b",
)
_AXIS = re.compile(
    r"(?:\b(?:in|along|around|of|about) (?:the )?)?\b[xyzw]\b"
    r"(?:[-_ ](?:coordinates?|axis|direction|component|value))?",
    re.IGNORECASE,
)
_AXIS_OF = re.compile(
    r"\b[xyzw]\b(?:[-_ ](?:coordinates?|axis|component|value))? of (?:the )?", re.IGNORECASE
)

_UNIT = r"(?:rad|deg|m|cm|mm|s|ms|min|h|kg|g|N|Nm|J|W|V|A|K|Hz|Pa|steps?)(?:\^?-?\d)?"

_KINDS: tuple[tuple[str, FieldKind], ...] = (
    (r"\bvelocit|\bspeed|\brad/s|\bm/s|_vel\b|\bderivative", "velocity"),
    (r"\bquaternion|\borientation|\bcos(?:ine)?\b|\bsin(?:e)?\b|_quat\b|\brotation", "orientation"),
    (r"\bcontact\b|\bboolean\b|\bwhether\b", "flag"),
    (r"\bangle|\brad\b|\bhinge\b", "angle"),
    (r"\bposition|\bcoordinate|_pos\b|\bdistance|\bgoal\b|\bdisplacement|\(m\)", "position"),
)


def slug(text: str) -> str:
    """Return words as a Python name, `A of B` turned into `b_a`, little words left out; may be empty."""
    text = re.split(r"[,;:]|\. ", text.lower())[0]
    for aside in _ASIDES:
        text = re.sub(aside, " ", text)
    parts = [part for part in re.split(r"\bof\b", text) if part.strip()]
    words = [word for part in reversed(parts) for word in re.findall(r"[a-z0-9]+", part)]
    kept: list[str] = []
    for word in words:
        if word not in _DROPPED and word not in kept and len("_".join([*kept, word])) <= MAX_NAME:
            kept.append(word)
    return "_".join(kept)


def without_axis(text: str) -> str:
    """Return a description without x, y, z or w, so that those of one vector become alike."""
    return " ".join(_AXIS.sub(" ", _AXIS_OF.sub(" ", text)).split()).strip(" ,.")


def as_name(text: str, taken: set[str]) -> str:
    """Return a name that reward code can read, unlike those that are taken, and take it."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower() or "value"
    if name[0].isdigit():
        name = f"n{name}"
    if keyword.iskeyword(name) or name in ("terminated", "np", "obs", "info", "env"):
        name = f"{name}_"
    unlike, number = name, 2
    while unlike in taken:
        unlike, number = f"{name}_{number}", number + 1
    taken.add(unlike)
    return unlike


def kind_of(*texts: str) -> FieldKind:
    """Return the kind of quantity that the words are about; `scalar` where they do not tell."""
    for text in texts:
        for pattern, kind in _KINDS:
            if re.search(pattern, text, re.IGNORECASE):
                return kind
    return "scalar"


def unit_of(text: str) -> str:
    """Return the unit in brackets of `angle (rad)`, or nothing."""
    match = re.search(rf"\(({_UNIT}(?:[ */]{_UNIT})*)\)", text)
    return match[1] if match else ""
