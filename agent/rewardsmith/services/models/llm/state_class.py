"""The task's state as a Python class that a language model reads."""

import math
from collections.abc import Sequence

from rewardsmith.contract.layout import StateField
from rewardsmith.services.models.base import TaskBrief
from rewardsmith.services.prompting import plain

_MAX_AXES = 6
"""Values of a field whose ranges are told one by one."""


def state_class(brief: TaskBrief) -> str:
    """Return the state and the action as commented Python: shapes, units, ranges, meanings."""
    rows = [
        _row(field, brief.axis_ranges.get(field.name, ()) or (brief.ranges.get(field.name),))
        for field in brief.layout.fields
    ]
    width = max(len(declaration) for declaration, _ in rows)
    fields = "\n".join(f"    {declaration:<{width}}  # {comment}" for declaration, comment in rows)
    return (
        "class State:\n"
        f"{fields}\n\n\n"
        "class NextState(State):\n"
        "    terminated: np.ndarray  # (n,) bool: the episode ended by itself, not by its time limit\n\n\n"
        f"action: np.ndarray  # {_action(brief)}"
    )


def _row(field: StateField, seen: Sequence[tuple[float, float] | None]) -> tuple[str, str]:
    shape = ", ".join(map(str, field.shape))
    kind = "" if field.kind == "scalar" else f" {field.kind}"
    unit = f" in {field.unit}" if field.unit else ""
    parts = [f"({'n, ' + shape if shape else 'n,'}){kind}{unit}"]
    if field.low is not None and field.high is not None:
        parts.append(f"within {field.low:g} to {field.high:g}")
    known = [pair for pair in seen if pair is not None]
    if len(known) == 1 or len(known) > _MAX_AXES:
        low, high = min(low for low, _ in known), max(high for _, high in known)
        parts.append(f"seen from {low:.3g} to {high:.3g} under random actions")
    elif known:
        ranges = ", ".join(f"{low:.3g} to {high:.3g}" for low, high in known)
        parts.append(f"seen under random actions, each by itself: {ranges}")
    text = "; ".join(parts)
    # A line break would end the comment, a row of backticks the block that it stands in.
    return f"{field.name}: np.ndarray", plain(f"{text}. {field.doc}").rstrip(". ") + "."


def _action(brief: TaskBrief) -> str:
    action = brief.action
    if action.discrete and action.dim > 1:
        n_choices = ", ".join(f"{high + 1:g}" for high in action.high or ())
        return f"(n, {action.dim}) int64: which choice each part of the action took, of {n_choices}"
    if action.discrete:
        n = int(action.high[0]) + 1 if action.high else None
        return f"(n, 1) int64: which of {n} actions was taken" if n else "(n, 1) int64: the action taken"
    text = f"(n, {action.dim}) float64, as applied to the environment"
    bounds = {*zip(action.low or (), action.high or (), strict=True)}
    if len(bounds) == 1:
        ((low, high),) = bounds
        if math.isfinite(low) and math.isfinite(high):
            text += f"; each value within {low:g} to {high:g}"
    elif bounds:
        text += f"; within [{_numbers(action.low)}] to [{_numbers(action.high)}]"
    return text


def _numbers(values: tuple[float, ...] | None) -> str:
    return ", ".join(f"{value:g}" for value in values or ())
