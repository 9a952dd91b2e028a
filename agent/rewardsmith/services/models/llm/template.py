"""The template form of an answer: a choice of terms and weights, for models that cannot write code.

Language to Rewards (Yu et al., 2023) lets a model fill in a template of terms; here the terms are those of
the grammar of `builtin`, and a JSON schema holds the model to them.
"""

import json
import random
from collections.abc import Iterable
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from rewardsmith.errors import FailureCode
from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.chat.structured import parse_as
from rewardsmith.services.models.base import Proposal, TaskBrief
from rewardsmith.services.models.builtin.quantities import Component, Quantities
from rewardsmith.services.models.builtin.render import render, render_potential
from rewardsmith.services.models.builtin.terms import (
    MAX_TERMS,
    MAX_WEIGHT,
    Gate,
    Genome,
    Quantity,
    Shape,
    Term,
    as_potential,
    round3,
    tidy,
)
from rewardsmith.services.sandbox.untrusted import clean

GapShape = Literal["toward", "near", "exact", "far"]
ValueShape = Literal["more", "less"]

EFFORT, ALIVE = "size of the action", "steps that do not end the episode"
_GAP_TERMS: dict[GapShape | ValueShape, tuple[Shape, float]] = {
    "toward": ("progress", 20.0),
    "near": ("exp", 3.0),
    "exact": ("exp", 15.0),
    "far": ("linear", 1.0),
}
"""Shapes of the grammar with the sharpness that they get, relative to the range of the measure."""
_GATE_SHARPNESS = 10.0
WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""What a schema offers; where a server does not hold a model to it, any up to `MAX_WEIGHT` will do."""
_MAX_MEASURES = 60
_MAX_SAID_CHARS = 4000


class TermChoice(BaseModel):
    """One chosen term."""

    model_config = ConfigDict(extra="ignore")

    measure: str
    shape: GapShape | ValueShape
    weight: float = Field(gt=0, le=MAX_WEIGHT)
    only_near: str | None = None


class TermsAnswer(BaseModel):
    """The whole answer."""

    terms: list[TermChoice] = Field(min_length=1)


class Template:
    """What can be chosen for one task, and how a choice becomes code.

    Args:
        brief: the task.
    """

    def __init__(self, brief: TaskBrief) -> None:
        self._brief = brief
        self._quantities = Quantities(brief)

    @cached_property
    def gaps(self) -> dict[str, Quantity]:
        """Measures that are never negative, by name: distances, lengths, ways from a target."""
        found: dict[str, Quantity] = {}
        q = self._quantities
        for group in q.groups:
            for first, second in combinations(group, 2):
                # Drawn without an axis: any generator does, as long as it is always the same.
                distance = q.distance(random.Random(0), first, second)
                whole = Quantity(
                    kind="distance", field=distance.field, other=distance.other, span=distance.span
                )
                found[f"distance of {first.name} and {second.name}"] = whole
        for field in q.lengths:
            found[f"size of {field.name}"] = q.length(field)
        for part in self._moving():
            for target in _targets(part, q.range_of(part.field)):
                offset = q.offset(random.Random(0), part)
                name = f"{_label(part)} away from {target:g}"
                found[name] = Quantity(
                    kind=offset.kind, field=offset.field, axes=offset.axes, target=target, span=offset.span
                )
        return dict(list(found.items())[:_MAX_MEASURES])

    @cached_property
    def values(self) -> dict[str, Quantity | None]:
        """Measures with a sign, by name; None for those that are no quantity of the state."""
        parts = [*self._moving(), *self._quantities.flags]
        found: dict[str, Quantity | None] = {_label(p): self._quantities.value(p) for p in parts}
        found = dict(list(found.items())[:_MAX_MEASURES])
        if not self._brief.action.discrete:
            found[EFFORT] = None
        return found | {ALIVE: None}

    @property
    def measures(self) -> tuple[str, ...]:
        """Every measure with the shapes that go with it, for the prompt."""
        return (
            *(f"{name} (toward, near, exact, far)" for name in self.gaps),
            *(f"{name} (more, less)" for name in self.values),
        )

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer, which admits only what `read` accepts."""
        weight = {"type": "number", "enum": list(WEIGHTS)}
        nothing = {"type": "null"}
        forms = [
            _object(
                measure=_one_of(self.values),
                shape=_one_of(get_args(ValueShape)),
                weight=weight,
                only_near=nothing,
            )
        ]
        if self.gaps:
            gap = _one_of(self.gaps)
            only_near = {"anyOf": [nothing, gap]}
            forms.insert(
                0, _object(measure=gap, shape=_one_of(_GAP_TERMS), weight=weight, only_near=only_near)
            )
        terms = {"type": "array", "items": {"anyOf": forms}, "minItems": 1, "maxItems": MAX_TERMS}
        return _object(terms=terms)

    def read(self, reply: ChatReply, origin: str, parents: tuple[str, ...]) -> Proposal:
        """Return the reward that an answer chooses; a failure is part of the proposal, never raised."""
        failure: FailureCode | None = None
        genome, source, message = None, "", ""
        try:
            answer = parse_as(TermsAnswer, reply)
            chosen = Genome(tidy(self._term(term) for term in answer.terms))
            source = self._source(chosen)
            genome = {**chosen.to_json(), "answer": json.dumps(answer.model_dump())}
        except ValueError as error:
            failure, message = _failure(reply), clean(str(error))
        return Proposal(
            source=source,
            origin=origin,
            parents=parents,
            genome=genome,
            failure=failure,
            message=message,
            said=clean(reply.text, _MAX_SAID_CHARS) if failure else "",
        )

    def _source(self, genome: Genome) -> str:
        brief = self._brief
        if not brief.shaping:
            return render(genome, brief.layout, brief.action)
        potential = as_potential(genome)
        if potential is None:
            raise ValueError("no term looks at the state; choose measures of the state")
        return render_potential(potential, brief.layout, brief.action)

    def _moving(self) -> list[Component]:
        """Return the numbers that tell something by themselves: a goal does so only beside something else."""
        return [p for p in self._quantities.components if p.field.name not in self._quantities.goal_like]

    def _term(self, choice: TermChoice) -> Term:
        weight = round3(choice.weight)
        gate = None
        if choice.only_near is not None:
            gate = Gate(shape="exp", quantity=self._gap(choice.only_near), sharpness=_GATE_SHARPNESS)
        if choice.shape in _GAP_TERMS:
            shape, sharpness = _GAP_TERMS[choice.shape]
            quantity = self._gap(choice.measure)
            return Term(shape=shape, weight=weight, quantity=quantity, sharpness=sharpness).gated(gate)
        if choice.measure not in self.values:
            raise ValueError(f"shape {choice.shape!r} does not go with the measure {choice.measure!r}")
        value = self.values[choice.measure]
        signed = weight if choice.shape == "more" else -weight
        if choice.measure == EFFORT:
            return Term(shape="effort", weight=-signed)
        if value is None:
            return Term(shape="alive", weight=signed)
        return Term(shape="value", weight=signed, quantity=value)

    def _gap(self, name: str) -> Quantity:
        if name not in self.gaps:
            raise ValueError(f"there is no measure {name!r} for a shape of toward, near, exact or far")
        return self.gaps[name]


def _failure(reply: ChatReply) -> FailureCode:
    if reply.refusal or reply.finish_reason == "content_filter":
        return FailureCode.REFUSED
    if not (reply.text or reply.reasoning).strip():
        return FailureCode.EMPTY
    return FailureCode.TRUNCATED if reply.finish_reason == "length" else FailureCode.BAD_FORM


def _one_of(names: Iterable[str]) -> dict[str, Any]:
    # Strict structured output wants the type beside the choice.
    return {"type": "string", "enum": list(names)}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _label(part: Component) -> str:
    return part.field.name + "".join(f"[{axis}]" for axis in part.axes)


def _targets(part: Component, seen: tuple[float, float]) -> list[float]:
    if part.field.kind == "orientation":
        return [-1.0, 0.0, 1.0]
    if part.field.kind in ("velocity", "angle"):
        return [0.0]
    low, high = seen
    return list(dict.fromkeys(round3(value) for value in (low, (low + high) / 2, high)))
