"""Named, read-only views on a batch, as candidate code sees it."""

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from rewardsmith.worker.reward.frame import Geometry, RequestViews

TERMINATED = "terminated"


def _refuse(self: Any, name: str, value: Any = None) -> NoReturn:
    raise AttributeError("a state cannot be changed")


class Batch:
    """Base of the state records; its subclasses have one slot per field."""

    __slots__ = ()
    __setattr__ = _refuse
    __delattr__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"no field {name!r} in the state; the fields are {', '.join(self.__slots__)}")

    def __repr__(self) -> str:
        return f"state({', '.join(self.__slots__)})"


def batch_type(names: tuple[str, ...]) -> type[Batch]:
    """Return a record class with these fields."""
    return type("Batch", (Batch,), {"__slots__": names})


def make_batch(cls: type[Batch], values: dict[str, npt.NDArray[Any]]) -> Batch:
    """Return a record of the class with these values, each made read-only."""
    record = object.__new__(cls)
    for name, value in values.items():
        value.flags.writeable = False
        getattr(cls, name).__set__(record, value)
    return record


class BatchFactory:
    """Builds the arguments of `compute_reward` and `potential` for a number of rows."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        names = tuple(name for name, _ in geometry.fields)
        self._state_type = batch_type(names)
        self._next_type = batch_type((*names, TERMINATED))

    def arguments(self, views: RequestViews) -> tuple[Batch, npt.NDArray[Any], Batch]:
        """Return `(state, action, next_state)` on the rows of `views`."""
        action = views.action.view()
        action.flags.writeable = False
        after = self._fields(views.next_state)
        after[TERMINATED] = views.terminated.view()
        return self.state(views), action, make_batch(self._next_type, after)

    def state(self, views: RequestViews) -> Batch:
        """Return the argument of `potential`."""
        return make_batch(self._state_type, self._fields(views.state))

    def _fields(self, rows: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[Any]]:
        values, start = {}, 0
        for name, shape in self._geometry.fields:
            stop = start + int(np.prod(shape, dtype=np.int64))
            values[name] = rows[:, start:stop].reshape(len(rows), *shape)
            start = stop
        return values
