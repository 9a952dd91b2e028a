"""What can be measured in a state: the quantities that a layout offers, and which of them to draw first."""

import itertools
import math
import random
import re
from dataclasses import dataclass

from rewardsmith.contract.layout import StateField
from rewardsmith.services.models.base import TaskBrief
from rewardsmith.services.models.builtin.terms import Quantity, round3

_GOAL_WORDS = frozenset({"goal", "target", "desired", "destination"})
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_BEYOND = 0.5
_ANGLES = (0.0, 0.0, round3(math.pi), round3(math.pi / 2), round3(-math.pi / 2))
_MAX_COMPONENTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One number of one field."""

    field: StateField
    axes: tuple[int, ...]


class Quantities:
    """Draws quantities of one task.

    Attributes:
        groups: fields that can be subtracted from each other, each group of at least two.
        longest: size of the largest group that is worth building a reward around; 0 where there is none.
        components: every single number but flags.
        velocities: those of them that are velocities.
        places: those of them that are positions.
        flags: numbers that are 0 or 1.
        lengths: vectors whose norm means something.
        goal_like: names of fields that say where something is to go; they seldom move.
    """

    def __init__(self, brief: TaskBrief) -> None:
        self._ranges = brief.ranges
        fields = [field for field in brief.layout.fields if field.size]
        numbers = [part for field in fields for part in _components(field)]
        self.flags = [part for part in numbers if part.field.kind == "flag"]
        self.components = [part for part in numbers if part.field.kind != "flag"]
        self.velocities = [part for part in self.components if part.field.kind == "velocity"]
        self.places = [part for part in self.components if part.field.kind == "position"]
        vectors = [field for field in fields if len(field.shape) == 1]
        words = {field.name: _words(f"{field.name} {field.doc}") for field in fields}
        mentioned = _words(brief.goal)
        self._field_weights = {name: 2.0 if found & mentioned else 1.0 for name, found in words.items()}
        self.goal_like = {name for name, found in words.items() if found & _GOAL_WORDS}
        self.groups = _groups(fields)
        self.lengths = [
            field
            for field in vectors
            if field.kind in ("velocity", "position") and field.name not in self.goal_like
        ]
        telling = [self._is_telling(group) for group in self.groups]
        self._group_weights = [len(g) if good else 0.3 for g, good in zip(self.groups, telling, strict=True)]
        self.longest = max((len(g) for g, good in zip(self.groups, telling, strict=True) if good), default=0)
        self._order = {field.name: (field.name in self.goal_like, i) for i, field in enumerate(fields)}

    def chain(self, rng: random.Random, length: int) -> list[StateField]:
        """Draw distinct fields of one group, the last of them goal-like where one is; may be shorter."""
        group = rng.choices(self.groups, weights=self._group_weights)[0]
        rest, chain = list(group), []
        goals = [field for field in rest if field.name in self.goal_like]
        if goals and rng.random() < 0.8:
            chain.append(rng.choice(goals))
            rest.remove(chain[0])
        while rest and len(chain) < length:
            picked = rng.choices(rest, weights=[self._field_weights[field.name] for field in rest])[0]
            chain.append(picked)
            rest.remove(picked)
        return chain[::-1]

    def distance(self, rng: random.Random, first: StateField, second: StateField) -> Quantity:
        """Return the distance of two fields, now and then along one axis or two only.

        It is the same quantity whichever field comes first.
        """
        first, second = sorted((first, second), key=lambda field: self._order[field.name])
        axes: tuple[int, ...] = ()
        size = first.size
        if size in (2, 3) and rng.random() < 0.25:
            n_axes = 1 if size == 2 or rng.random() < 0.6 else 2
            axes = tuple(sorted(rng.sample(range(size), n_axes)))
        low = min(self.range_of(first)[0], self.range_of(second)[0])
        high = max(self.range_of(first)[1], self.range_of(second)[1])
        return Quantity(
            kind="distance", field=first.name, other=second.name, axes=axes, span=_span(low, high)
        )

    def gap(self, rng: random.Random) -> Quantity | None:
        """Draw a quantity that is never negative, of any kind that the layout offers."""
        options = [("distance", 5.0 if self.longest else 0.5)] if self.groups else []
        if self.components:
            options.append(("offset", 3.0))
        if self.lengths:
            options.append(("length", 1.0))
        if not options:
            return None
        kind = rng.choices([name for name, _ in options], weights=[weight for _, weight in options])[0]
        if kind == "distance":
            first, second = self.chain(rng, 2)
            return self.distance(rng, first, second)
        if kind == "offset":
            return self.offset(rng, self.pick(rng, self.components))
        return self.length(rng.choice(self.lengths))

    def offset(self, rng: random.Random, part: Component) -> Quantity:
        """Return how far one number is from a target drawn for it; an angle goes around the circle."""
        field = part.field
        if field.kind == "angle":
            return Quantity(kind="angle", field=field.name, axes=part.axes, target=rng.choice(_ANGLES))
        low, high = self.range_of(field)
        span = _span(low, high)
        target = round3(rng.choice(self._targets(field, low, high)))
        return Quantity(kind="offset", field=field.name, axes=part.axes, target=target, span=span)

    def value(self, part: Component) -> Quantity:
        """Return one number with its sign: a velocity as it is, anything else above its lowest seen value."""
        low, high = self.range_of(part.field)
        if part.field.kind == "velocity":
            target, span = 0.0, _span(0.0, max(abs(low), abs(high)))
        else:
            target, span = round3(low), _span(low, high)
        return Quantity(kind="value", field=part.field.name, axes=part.axes, target=target, span=span)

    def length(self, field: StateField) -> Quantity:
        """Return the norm of a vector."""
        low, high = self.range_of(field)
        return Quantity(kind="length", field=field.name, span=_span(0.0, max(abs(low), abs(high))))

    def pick(self, rng: random.Random, parts: list[Component]) -> Component:
        """Draw one component, more often of a field that the goal text names, seldom of a goal itself.

        A goal that stands still tells nothing until something is compared with it.
        """
        weights = [
            self._field_weights[part.field.name]
            / part.field.size
            * (0.2 if part.field.name in self.goal_like else 1.0)
            for part in parts
        ]
        return rng.choices(parts, weights=weights)[0]

    def range_of(self, field: StateField) -> tuple[float, float]:
        """Return the range seen, else the range declared, else (-1, 1)."""
        low, high = self._ranges.get(field.name, (field.low, field.high))
        known = [bound for bound in (low, high) if bound is not None and math.isfinite(bound)]
        if len(known) == 2:
            return known[0], known[1]
        if known:
            return min(known[0], 0.0), max(known[0], 1.0)
        return -1.0, 1.0

    def _is_telling(self, group: list[StateField]) -> bool:
        """Whether differences within the group are likely to matter: a height less a width seldom does."""
        has_goal = any(field.name in self.goal_like for field in group)
        return has_goal or (group[0].kind == "position" and group[0].size > 1)

    def _targets(self, field: StateField, low: float, high: float) -> list[float]:
        inside = [low + q * (high - low) for q in _QUANTILES]
        if field.kind == "orientation":
            return [-1.0, 0.0, 1.0]
        # The store starts with random behaviour: what the task wants often lies outside what was seen.
        beyond = [low - _BEYOND * (high - low), high + _BEYOND * (high - low)]
        if field.low is not None:
            beyond = [max(value, field.low) for value in beyond]
        if field.high is not None:
            beyond = [min(value, field.high) for value in beyond]
        zero = [0.0] * 4 if beyond[0] <= 0.0 <= beyond[1] else []
        return [low, high, *inside, *beyond, *zero]


def _groups(fields: list[StateField]) -> list[list[StateField]]:
    """Return the fields of equal kind, shape and unit together, where there are two or more."""
    groups: dict[tuple[str, tuple[int, ...], str], list[StateField]] = {}
    for field in fields:
        is_plain_number = field.kind == "scalar" and not field.unit
        if (
            field.kind in ("position", "orientation", "scalar")
            and not is_plain_number
            and len(field.shape) <= 1
        ):
            groups.setdefault((field.kind, field.shape, field.unit), []).append(field)
    return [group for group in groups.values() if len(group) > 1]


def _components(field: StateField) -> list[Component]:
    indices = itertools.product(*(range(n) for n in field.shape))
    return [Component(field=field, axes=axes) for axes in itertools.islice(indices, _MAX_COMPONENTS)]


def _span(low: float, high: float) -> float:
    """Return the width of a range, never so small that dividing by it gets out of hand."""
    width = high - low
    floor = 1e-3 * max(abs(low), abs(high))
    if width > max(floor, 1e-6):
        return round3(min(width, 1e9))
    return round3(min(max(abs(low), abs(high)), 1e9)) or 1.0


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower().replace("_", " ")))
