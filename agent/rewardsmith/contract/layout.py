"""The fixed layout of a task's state vector and of its action, as reward code sees them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rewardsmith.types import FloatArray

FieldKind = Literal["position", "velocity", "orientation", "angle", "scalar", "flag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateField:
    """One named part of the state.

    Attributes:
        name: a Python identifier; reward code reads `next_state.<name>`.
        shape: shape of one row; `()` for a plain number, so that the batch has shape `(n,)`.
        unit: for people and prompts, such as `m` or `rad/s`; empty where there is none.
        low: smallest value to expect, or None.
        high: largest value to expect, or None.
        kind: what the numbers are, which tells a grammar what may be subtracted from what.
        doc: one sentence for people and prompts.
    """

    name: str
    shape: tuple[int, ...] = ()
    unit: str = ""
    low: float | None = None
    high: float | None = None
    kind: FieldKind = "scalar"
    doc: str = ""

    @property
    def size(self) -> int:
        """Number of values in one row."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class StateLayout:
    """The order of the fields in a state vector of `dim` float64 values."""

    fields: tuple[StateField, ...]

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Columns of each field, by name."""
        slices, start = {}, 0
        for field in self.fields:
            slices[field.name] = slice(start, start + field.size)
            start += field.size
        return slices

    @cached_property
    def dim(self) -> int:
        """Length of one state vector."""
        return sum(field.size for field in self.fields)

    def view(self, state: FloatArray) -> dict[str, FloatArray]:
        """Return each field of a batch `(n, dim)` as a view of shape `(n, *shape)`, by name."""
        n = len(state)
        return {f.name: state[:, self.slices[f.name]].reshape(n, *f.shape) for f in self.fields}

    def wire(self) -> list[list[Any]]:
        """Return `[[name, [*shape]], ...]`, the form in which other processes are told the layout."""
        return [[f.name, list(f.shape)] for f in self.fields]

    @staticmethod
    def from_wire(wire: Iterable[Iterable[Any]]) -> "StateLayout":
        """Rebuild names and shapes from `wire()`."""
        return StateLayout(tuple(StateField(name=name, shape=tuple(shape)) for name, shape in wire))


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """Action as reward code sees it.

    Attributes:
        dim: number of values in one action.
        discrete: int64 indices where True, float64 values where False.
        low: lower bound of each value, or None.
        high: upper bound of each value, or None.
    """

    dim: int
    discrete: bool = False
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of a batch of actions."""
        return np.dtype(np.int64 if self.discrete else np.float64)
