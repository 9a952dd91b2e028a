"""The records that a reward genome is made of, and their JSON form."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

QuantityKind = Literal["distance", "length", "offset", "angle", "value"]
Shape = Literal[
    "linear",
    "exp",
    "tanh",
    "tail",
    "within",
    "progress",
    "value",
    "rise",
    "alive",
    "ended",
    "effort",
    "choice",
]

CLOSE_SHAPES: tuple[Shape, ...] = ("exp", "tanh", "tail", "within")
"""Shapes that turn a gap into a closeness in [0, 1]: they alone may gate another term."""
GAP_SHAPES: tuple[Shape, ...] = (*CLOSE_SHAPES, "linear", "progress")
VALUE_SHAPES: tuple[Shape, ...] = ("value", "rise")
PLAIN_SHAPES: tuple[Shape, ...] = ("alive", "ended", "effort", "choice")
SIGNED_SHAPES: tuple[Shape, ...] = ("value", "rise", "ended", "choice")
"""Shapes that make sense with a weight of either sign."""

MAX_TERMS = 6
MAX_WEIGHT = 30.0
MAX_SHARPNESS = 200.0


def round3(value: float) -> float:
    """Return the value with three significant digits."""
    return float(f"{value:.3g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number that can be read off one state.

    Attributes:
        kind: `distance` between two fields, `length` of one, `offset` of a number from a target, `angle` away
            from a target as 1 - cos, or a signed `value` above a target. All but `value` are gaps: never
            negative.
        field: the field it is about.
        other: the second field of a `distance`.
        axes: of a `distance` the components compared (empty: all); of the others the index of one component.
        target: what `offset`, `angle` and `value` are measured from.
        span: the size it typically varies over, from what was seen; a sharpness is relative to it.
    """

    kind: QuantityKind
    field: str
    other: str | None = None
    axes: tuple[int, ...] = ()
    target: float = 0.0
    span: float = 1.0

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes that a term on this quantity may have."""
        if self.kind == "value":
            return VALUE_SHAPES
        return (*GAP_SHAPES, "value") if self.kind == "length" else GAP_SHAPES


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A closeness in [0, 1] that a term is multiplied by."""

    shape: Shape
    quantity: Quantity
    sharpness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One summand of a reward.

    Attributes:
        shape: how the quantity becomes a number; `alive`, `ended`, `effort` and `choice` have no quantity.
        weight: its factor; `linear` and `effort` count against the reward by themselves.
        quantity: what it is about.
        sharpness: how fast it changes over one span of its quantity.
        gate: what it is multiplied by, or None.
        index: the action that a `choice` is about.
        column: which part of an action of several choices that is.
    """

    shape: Shape
    weight: float
    quantity: Quantity | None = None
    sharpness: float = 1.0
    gate: Gate | None = None
    index: int = 0
    column: int = 0

    def gated(self, gate: Gate | None) -> "Term":
        """Return the term behind a gate; a term without a quantity, or one that only costs, stays as it is.

        A cost behind a gate would pay for staying away from the gate.
        """
        if self.quantity is None or self.shape == "linear":
            return replace(self, gate=None)
        return replace(self, gate=gate)


def tidy(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return the terms without repetition: a second effort, say, is dropped; at most `MAX_TERMS`."""
    kept: dict[object, Term] = {}
    for term in terms:
        kept.setdefault(term if term.quantity else (term.shape, term.column, term.index), term)
    return tuple(kept.values())[:MAX_TERMS]


@dataclass(frozen=True, slots=True)
class Genome:
    """A reward as the sum of one to `MAX_TERMS` terms."""

    terms: tuple[Term, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the genome as JSON-ready data."""
        return {"terms": [_term_to_json(term) for term in self.terms]}

    @staticmethod
    def from_json(data: Any) -> "Genome":
        """Rebuild a genome.

        Raises:
            ValueError: the data is not a genome, or is beyond the bounds of one.
        """
        terms = _mapping(data).get("terms")
        if not isinstance(terms, list) or not 1 <= len(terms) <= MAX_TERMS:
            raise ValueError(f"a genome has a list of 1 to {MAX_TERMS} terms")
        return Genome(tuple(_term_from_json(_mapping(term)) for term in terms))


def as_potential(genome: Genome) -> Genome | None:
    """Return the terms of a genome as functions of one state; None where it has none.

    What a term pays for getting nearer becomes how near a state is, and actions and endings drop out.
    """
    shapes: dict[Shape, Shape] = {"progress": "linear", "rise": "value"}
    terms = [
        replace(term, shape=shapes.get(term.shape, term.shape)).gated(term.gate)
        for term in genome.terms
        if term.quantity is not None
    ]
    return Genome(tidy(terms)) if terms else None


def _quantity_to_json(quantity: Quantity) -> dict[str, Any]:
    return {
        "kind": quantity.kind,
        "field": quantity.field,
        "other": quantity.other,
        "axes": list(quantity.axes),
        "target": quantity.target,
        "span": quantity.span,
    }


def _term_to_json(term: Term) -> dict[str, Any]:
    data: dict[str, Any] = {"shape": term.shape, "weight": term.weight}
    if term.quantity is not None:
        data |= {"quantity": _quantity_to_json(term.quantity), "sharpness": term.sharpness}
    if term.gate is not None:
        data["gate"] = {
            "shape": term.gate.shape,
            "quantity": _quantity_to_json(term.gate.quantity),
            "sharpness": term.gate.sharpness,
        }
    if term.shape == "choice":
        data |= {"index": term.index, "column": term.column}
    return data


def _term_from_json(data: Mapping[str, Any]) -> Term:
    shape = _shape(data, get_args(Shape))
    weight = _number(data, "weight", -MAX_WEIGHT, MAX_WEIGHT)
    if shape in PLAIN_SHAPES:
        index, column = (_index(data.get(key, 0)) for key in ("index", "column"))
        return Term(shape=shape, weight=weight, index=index, column=column)
    quantity = _quantity_from_json(data)
    if shape not in quantity.shapes:
        raise ValueError(f"shape {shape} does not go with a {quantity.kind}")
    gate = None
    if data.get("gate") is not None:
        gate_data = _mapping(data["gate"])
        gate = Gate(
            shape=_shape(gate_data, CLOSE_SHAPES),
            quantity=_quantity_from_json(gate_data),
            sharpness=_number(gate_data, "sharpness", 0.0, MAX_SHARPNESS),
        )
        if gate.quantity.kind == "value":
            raise ValueError("a gate needs a gap, not a value")
    sharpness = _number(data, "sharpness", 0.0, MAX_SHARPNESS)
    return Term(shape=shape, weight=weight, quantity=quantity, sharpness=sharpness, gate=gate)


def _quantity_from_json(owner: Mapping[str, Any]) -> Quantity:
    data = _mapping(owner.get("quantity"))
    kind, field, other = data.get("kind"), data.get("field"), data.get("other")
    if kind not in get_args(QuantityKind) or not isinstance(field, str):
        raise ValueError(f"not a quantity: {dict(data)}")
    if not (isinstance(other, str) if kind == "distance" else other is None):
        raise ValueError("a distance, and it alone, has two fields")
    axes = data.get("axes", [])
    if not isinstance(axes, list):
        raise ValueError("axes are a list")
    return Quantity(
        kind=cast(QuantityKind, kind),
        field=field,
        other=other,
        axes=tuple(_index(axis) for axis in axes),
        target=_number(data, "target", -math.inf, math.inf),
        span=_number(data, "span", 0.0, math.inf),
    )


def _mapping(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise ValueError(f"expected an object, got {type(data).__name__}")
    return data


def _shape(data: Mapping[str, Any], allowed: tuple[Shape, ...]) -> Shape:
    shape = data.get("shape")
    if shape not in allowed:
        raise ValueError(f"unknown shape {shape!r}")
    return cast(Shape, shape)


def _number(data: Mapping[str, Any], key: str, low: float, high: float) -> float:
    """Return a finite number; `low` is excluded where it is zero, for nothing divides by a span of zero."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{key} is not a finite number")
    if not low <= value <= high or (low == 0.0 and value == 0.0):
        raise ValueError(f"{key} = {value} is out of bounds")
    return float(value)


def _index(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not an index")
    return value
