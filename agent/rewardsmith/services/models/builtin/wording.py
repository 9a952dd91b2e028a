"""Names and sentences for the parts of a rendered reward."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rewardsmith.contract.layout import StateField
from rewardsmith.services.models.builtin.terms import Quantity, Shape, Term

_SUFFIXES = ("_position", "_pos", "_xyz")
_VERBS: dict[Shape, str] = {
    "exp": "near",
    "tanh": "near",
    "tail": "near",
    "within": "at",
    "linear": "far from",
    "progress": "toward",
    "value": "away from",
    "rise": "away from",
}
_PLAIN: dict[Shape, str] = {"alive": "alive", "ended": "ended", "effort": "effort", "choice": "choice"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """The words for one term: its component name, and variables for its factor and its quantity."""

    component: str
    factor: str
    quantity: str


def phrase(term: Term, fields: Mapping[str, StateField]) -> Phrase:
    """Return the words for a term; callers make them unique."""
    if term.quantity is None:
        where = f"{term.column} {term.index}" if term.column else f"{term.index}"
        word = f"choice {where}" if term.shape == "choice" else _PLAIN[term.shape]
        return Phrase(component=word, factor=word.replace(" ", "_"), quantity="")
    subject, thing = _parts(term.quantity, fields)
    if term.quantity.kind == "value":
        words = f"{subject} {'change' if term.shape == 'rise' else 'level'}"
        name = f"{subject}_above" if term.quantity.target else f"{subject}_value"
    else:
        words = f"{subject} {_VERBS[term.shape]} {thing}"
        name = f"{subject}_to_{thing}"
    component = f"gated {words}" if term.gate is not None else words
    return Phrase(component=component, factor=words.replace(" ", "_"), quantity=name)


def sentence(name: str, term: Term, fields: Mapping[str, StateField]) -> str:
    """Return one line for people: what a component pays for."""
    text = f"{name}: {_about(term, fields)}"
    if term.quantity is not None and term.quantity.target:
        text += f" (measured from {term.quantity.target:.3g})"
    if term.gate is not None:
        gate = Term(shape=term.gate.shape, weight=1.0, quantity=term.gate.quantity)
        text += f", times {phrase(gate, fields).component}"
    return text


def _about(term: Term, fields: Mapping[str, StateField]) -> str:
    weight = f"{abs(term.weight):.3g}"
    sign = "pays" if term.weight > 0 else "costs"
    if term.shape == "alive":
        return f"{sign} {weight} for every step that does not end the episode"
    if term.shape == "ended":
        return f"{sign} {weight} once, when the episode ends by itself"
    if term.shape == "choice":
        of = f" in part {term.column}" if term.column else ""
        return f"{sign} {weight} whenever action {term.index}{of} is taken"
    if term.quantity is None:
        verb = "costs" if term.weight > 0 else "pays"
        return f"{verb} up to {weight} for actions at their bounds"
    unit = "" if term.quantity.kind == "angle" else fields[term.quantity.field].unit
    scale = term.quantity.span / term.sharpness
    size = _with_unit(scale, unit)
    match term.shape:
        case "within":
            return f"pays {weight} when closer than {size}"
        case "linear":
            return f"costs {weight} per {size}"
        case "progress":
            return f"pays {weight} per {size} gained in this step, and takes it back when lost"
        case "value":
            return f"{sign} {weight} per {size}"
        case "rise":
            return f"{sign} {weight} per {size} of increase in this step"
    half = {"exp": math.log(2.0), "tanh": math.atanh(0.5), "tail": 1.0}[term.shape] * scale
    return f"pays up to {weight}, half of it at {_with_unit(half, unit)}"


def _with_unit(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}".rstrip()


def _parts(quantity: Quantity, fields: Mapping[str, StateField]) -> tuple[str, str]:
    """Return what a quantity is about and what it is measured from."""
    field = fields[quantity.field]
    subject = _label(quantity.field)
    if quantity.axes:
        subject += "_" + _axis_names(quantity.axes, field)
    if quantity.other is not None:
        return subject, _label(quantity.other)
    if field.kind == "velocity" and quantity.target == 0.0:
        return subject, "rest"
    if quantity.kind == "length":
        return subject, "origin"
    return subject, "target" if quantity.target else "zero"


def _axis_names(axes: tuple[int, ...], field: StateField) -> str:
    if field.shape in ((2,), (3,)) and field.kind in ("position", "velocity"):
        return "".join("xyz"[axis] for axis in axes)
    return "_".join(str(axis) for axis in axes)


def _label(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.endswith(suffix) and len(name) > len(suffix):
            return name.removesuffix(suffix)
    return name
