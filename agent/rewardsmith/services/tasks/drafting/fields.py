"""The named state fields of a draft, made of the numbers of an observation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rewardsmith.contract.layout import FieldKind
from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.drafting.columns import Column, columns_of
from rewardsmith.services.tasks.drafting.doc_tables import observation_rows
from rewardsmith.services.tasks.drafting.wording import as_name, kind_of, slug, without_axis

Facts = Mapping[str, Any]

MAX_SINGLE = 24
"""Numbers of one part of an observation that get a field each; of more, those of a kind are put together."""
_MAX_APART = 4
"""Even of many numbers, so few of a kind that follow each other get a field each."""
_MAX_UNKNOWN_SINGLE = 8
_KEY = r"[A-Za-z0-9_][A-Za-z0-9_/ -]*"
_TELLTALE = re.compile(r"rew|cost|return|success|solved|is_goal", re.IGNORECASE)
"""Of entries of an info that no reward may see: they hold what is to be found, or measures."""
_TOGETHER: dict[FieldKind, str] = {
    "angle": "joint_angles",
    "velocity": "joint_velocities",
    "position": "positions",
    "orientation": "orientations",
    "flag": "flags",
    "scalar": "values",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftField:
    """A state field, with what a person should know who looks at it.

    Attributes:
        name: unlike the others.
        source: where it is read.
        size: how many numbers it has; 1 is a plain number.
        is_plain: whether it is a plain number, of shape ().
        kind: of quantity.
        unit: or empty.
        low: bound that the environment declares for all of it, or None.
        high: the same.
        doc: what it is, or empty.
        seen: smallest and largest value under random actions.
    """

    name: str
    source: str
    size: int
    is_plain: bool
    kind: FieldKind
    unit: str
    low: float | None
    high: float | None
    doc: str
    seen: tuple[float, float]


def draft_fields(facts: Facts) -> list[DraftField]:
    """Return the fields of an environment's observation, and of what its infos tell beside it."""
    leaves: Sequence[Facts] = facts["observation"]
    for leaf in leaves:
        strange = next((key for key in leaf["path"] if not re.fullmatch(_KEY, key)), None)
        if strange is not None:
            raise TaskError(
                f"the observation has the key {strange!r}, which no source of task.yaml can name; wrap the "
                "environment and give it another name"
            )
    keys = sorted({key for leaf in leaves for key in leaf["path"]}, key=len, reverse=True)
    rows = observation_rows(facts["doc"], keys)
    taken: set[str] = set()
    fields: list[DraftField] = []
    for leaf in leaves:
        columns = columns_of(leaf, rows.get(leaf["path"][-1] if leaf["path"] else "", {}), facts["mujoco"])
        fields += _of_leaf(leaf, columns, taken)
    return fields + list(_of_info(facts["info"], taken))


def _of_leaf(leaf: Facts, columns: Sequence[Column], taken: set[str]) -> Iterator[DraftField]:
    """Yield the fields of one part of an observation."""
    title = "_".join(f"obs_{key}" if key.isdigit() else key for key in leaf["path"])
    groups = _groups(columns)
    is_matrix = len(leaf["shape"]) > 1
    if len(groups) == 1 or is_matrix or (title and not any(column.text for column in columns)):
        # The part is one thing, or no piece of it can be named; its own name is then the best that there is.
        text = _words(columns)
        name = title or slug(text) or "observation"
        yield _field(leaf, columns, as_name(name, taken), text, is_whole=True)
        return
    for group in groups:
        text, first, last = _words(group), group[0].index, group[-1].index
        if not text:
            name = f"{title or 'obs'}_{first}" + (f"_to_{last}" if last > first else "")
        else:
            name = _TOGETHER[group[0].kind] if _is_mixed(group) else slug(text) or "value"
        yield _field(leaf, group, as_name(name, taken), text)


def _is_mixed(group: Sequence[Column]) -> bool:
    """Whether a group holds more than the axes of one vector."""
    return len({without_axis(column.text) for column in group}) > 1


def _words(group: Sequence[Column]) -> str:
    """Return what a group is, in words; empty where nothing tells."""
    if len(group) == 1 or not group[0].text:
        return group[0].text
    if _is_mixed(group):
        owners = [column.owner for column in group]
        return "In this order: " + ", ".join(owners if all(owners) else [column.text for column in group])
    return without_axis(group[0].text)


def _groups(columns: Sequence[Column]) -> list[list[Column]]:
    """Put together neighbours that are one vector, and where there are many numbers those of a kind."""
    alone = iter(range(-1, -len(columns) - 1, -1))
    unknown = sum(not column.text for column in columns)

    def key(column: Column) -> Any:
        if column.group is not None:
            return column.group
        if not column.text:
            return "" if unknown > _MAX_UNKNOWN_SINGLE else next(alone)
        return (column.kind, column.unit)

    groups: list[list[Column]] = []
    for of, found in groupby(columns, key):
        group = list(found)
        is_of_a_kind = isinstance(of, tuple)
        if is_of_a_kind and (len(columns) <= MAX_SINGLE or len(group) <= _MAX_APART):
            groups += [[column] for column in group]
        else:
            groups.append(group)
    return groups


def _field(
    leaf: Facts, columns: Sequence[Column], name: str, text: str, *, is_whole: bool = False
) -> DraftField:
    indices = [column.index for column in columns]
    first, last = indices[0], indices[-1]
    size = len(indices)
    is_plain = size == 1
    source: str = leaf["source"]
    if not is_whole:
        source += f"[{first}]" if is_plain else f"[{first}:{last + 1}]"
    kinds = {column.kind for column in columns}
    units = {column.unit for column in columns}
    kind: FieldKind = kinds.pop() if len(kinds) == 1 else "scalar"
    if kind == "scalar" and is_whole and leaf["kind"] == "Box":
        kind = kind_of(name.replace("_", " "))
    return DraftField(
        name=name,
        source=source,
        size=size,
        is_plain=is_plain,
        kind=kind,
        unit=units.pop() if len(units) == 1 else "",
        low=_all(leaf["low"], indices, min),
        high=_all(leaf["high"], indices, max),
        doc=f"{text[:1].upper()}{text[1:]}." if text else "",
        seen=(min(leaf["seen_low"][i] for i in indices), max(leaf["seen_high"][i] for i in indices)),
    )


def _all(bounds: Sequence[float | None], indices: Sequence[int], choose: Any) -> float | None:
    """Return the bound of several numbers together, None where one has none."""
    values = [bounds[i] for i in indices]
    return None if any(value is None for value in values) else float(choose(values))


def _of_info(entries: Sequence[Facts], taken: set[str]) -> Iterator[DraftField]:
    """Yield fields for what infos tell at every step, the reset's among them, and that changes."""
    for entry in entries:
        key, low, high = entry["key"], min(entry["seen_low"]), max(entry["seen_high"])
        is_key = re.fullmatch(_KEY, key)
        if not entry["at_reset"] or not is_key or low == high or _TELLTALE.search(key):
            continue
        words = key.replace("_", " ").replace("/", " ")
        yield DraftField(
            name=as_name(slug(words) or key, taken),
            source=f"info.{key}",
            size=entry["size"],
            is_plain=entry["size"] == 1,
            kind=kind_of(words),
            unit="",
            low=None,
            high=None,
            doc=f"{words[:1].upper()}{words[1:]}, as the environment tells it in its info.",
            seen=(low, high),
        )
