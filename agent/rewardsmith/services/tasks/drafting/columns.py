"""The single numbers of an observation, each with what is known about it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardsmith.contract.layout import FieldKind
from rewardsmith.services.tasks.drafting.doc_tables import DocRow
from rewardsmith.services.tasks.drafting.wording import kind_of, unit_of, without_axis

Facts = Mapping[str, Any]

_Meaning = tuple[str, FieldKind, str, bool]
_QUATERNION: _Meaning = ("quaternion", "orientation", "", True)
_FREE_JOINT: dict[str, tuple[_Meaning, _Meaning]] = {
    "qpos": (("position", "position", "m", True), _QUATERNION),
    "qvel": (("velocity", "velocity", "m/s", True), ("angular velocity", "velocity", "rad/s", True)),
}
_N_PLACE = 3
"""Of the numbers of a free joint, the first are those of its place, the others those of its rotation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One number of an observation.

    Attributes:
        index: its place in its part of the observation.
        text: what it is, in words; empty where nothing tells.
        owner: the joint, body or site that it belongs to, or empty.
        group: equal for neighbours that make one vector together; None for one that stands alone.
        kind: of quantity.
        unit: or empty.
    """

    index: int
    text: str
    owner: str
    group: str | None
    kind: FieldKind
    unit: str


def columns_of(leaf: Facts, rows: Mapping[int, DocRow], mujoco: Facts | None) -> list[Column]:
    """Return the numbers of one part of an observation.

    What the simulator shows comes before what the documentation says, which is not always right; words are
    the documentation's.

    Args:
        leaf: facts of the part.
        rows: what its documentation says, by index; used only where it covers each number once.
        mujoco: names in the simulator, or None.
    """
    size = len(leaf["seen_low"])
    documented = rows if sorted(rows) == list(range(size)) else {}
    joints = mujoco["joints"] if mujoco else ()
    return [_column(leaf, i, documented.get(i), leaf["matches"][i], joints) for i in range(size)]


def _column(
    leaf: Facts, index: int, row: DocRow | None, match: str | None, joints: Sequence[Facts]
) -> Column:
    found = _from_simulator(index, match, joints) if match else None
    if found is not None and row is None:
        return found
    if row is None:
        kind: FieldKind = "flag" if _is_flag(leaf, index) else "scalar"
        return Column(index=index, text="", owner="", group=None, kind=kind, unit="")
    kind = kind_of(row.unit, row.text)
    if kind == "scalar" and _is_flag(leaf, index):
        kind = "flag"
    bare = without_axis(row.text)
    group = f"{bare}|{row.unit}" if bare != row.text or row.n_alike > 1 else None
    if found is not None:
        return replace(found, text=row.text, group=group or found.group)
    return Column(index=index, text=row.text, owner=row.owner, group=group, kind=kind, unit=unit_of(row.unit))


def _is_flag(leaf: Facts, index: int) -> bool:
    return bool(leaf["is_binary"][index]) and leaf["low"][index] == 0.0 and leaf["high"][index] == 1.0


def _from_simulator(index: int, match: str, joints: Sequence[Facts]) -> Column | None:
    """Return a column that is a number of the simulator."""
    parts = re.fullmatch(r"(qpos|qvel|site|body)(?:\.(.*))?\[(\d+)\]", match)
    assert parts is not None
    where, name, number = parts[1], parts[2] or "", int(parts[3])
    if where in ("site", "body"):
        return Column(
            index=index,
            text=f"{name} {'xyz'[number]} position",
            owner=name,
            group=f"{where} {name}",
            kind="position",
            unit="m",
        )
    before = [joint for joint in joints if joint[where] <= number]
    if not before:
        return None
    joint = max(before, key=lambda j: j[where])
    word, kind, unit, is_vector = _of_joint(joint["type"], where, number - joint[where])
    name, axis = joint["name"] or "joint", ""
    if is_vector and word != "quaternion":
        axis = f" {'xyz'[(number - joint[where]) % 3]}"
    text = f"{name}{axis} {word}"
    return Column(
        index=index,
        text=text,
        owner=joint["name"],
        group=f"{name} {word}" if is_vector else None,
        kind=kind,
        unit=unit,
    )


def _of_joint(type_: str, where: str, offset: int) -> _Meaning:
    """Return word, kind, unit and whether it is part of a vector, of one number of a joint."""
    if type_ == "free":
        return _FREE_JOINT[where][offset >= _N_PLACE]
    if type_ == "ball":
        return ("angular velocity", "velocity", "rad/s", True) if where == "qvel" else _QUATERNION
    if where == "qvel":
        return "velocity", "velocity", "m/s" if type_ == "slide" else "rad/s", False
    return ("position", "position", "m", False) if type_ == "slide" else ("angle", "angle", "rad", False)
