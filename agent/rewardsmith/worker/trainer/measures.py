"""The task's own measures of an episode: success, progress, fitness. Reward code never meets them."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.schema import Task, find_code_file
from rewardsmith.types import ActionArray, BoolArray, FloatArray, Trajectory
from rewardsmith.worker.trainer.making import attribute, import_task_file

PROGRESS_TOLERANCE = 1e-6
"""Observations are often float32, whose rounding may carry a value a little out of its range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """What a task's `fitness(episode)` is given.

    Attributes:
        state: the named fields, each of shape `(T + 1, *shape)`.
        action: shape `(T, action_dim)`.
        success: shape `(T,)`: whether the task was solved after each step; None where it has no success.
        terminated: whether the episode ended by itself.
        env_return: sum of the environment's own reward.
    """

    state: Any
    action: ActionArray
    success: BoolArray | None
    terminated: bool
    env_return: float


def _sources(task: Task) -> Iterator[tuple[str, str]]:
    """Yield each measure that the task's own code computes, with the file that does."""
    file = task.file
    if file.fitness.endswith(".py"):
        yield "fitness", file.fitness
    if file.success is not None and file.success.source.endswith(".py"):
        yield "success", file.success.source
    if file.progress is not None:
        yield "progress", file.progress.source


class Measures:
    """Success, progress and fitness of one task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._layout = task.layout
        self._functions: dict[str, tuple[Path, Callable[..., Any]]] = {}
        for name, source in _sources(task):
            file = find_code_file(task.folder, source)
            self._functions[name] = file, attribute(import_task_file(file), name, file)

    def _ask(self, name: str, argument: Any, kwargs: Mapping[str, Any], convert: Callable[[Any], Any]) -> Any:
        """Return what a function of the task's own code answers, converted."""
        file, function = self._functions[name]
        try:
            return convert(function(argument, **kwargs))
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            line = next((f":{f.lineno}" for f in reversed(frames) if f.filename == str(file)), "")
            raise TaskError(f"{file}{line}: {name}() failed ({type(error).__name__}: {error})") from error

    def _named(self, state: FloatArray) -> SimpleNamespace:
        return SimpleNamespace(**self._layout.view(state))

    def success_of(self, state: FloatArray) -> BoolArray:
        """Return the success of each state `(n, state_dim)`, for tasks that compute it from the state."""
        config = self._task.file.success
        kwargs = {} if config is None else config.kwargs
        values: BoolArray = self._ask(
            "success", self._named(state), kwargs, lambda v: np.asarray(v, dtype=np.bool_)
        )
        if values.shape != (len(state),):
            raise TaskError(f"{self._task.name}: success must answer one value for each state")
        return values

    def flags(self, next_state: FloatArray, told: list[bool] | BoolArray | None) -> BoolArray | None:
        """Return the success after each step, or None where the task has no success.

        Args:
            next_state: shape `(n, state_dim)`.
            told: what the environment's `info` said, for tasks that read it there.
        """
        success = self._task.file.success
        if success is None:
            return None
        if "success" in self._functions:
            return self.success_of(next_state)
        return np.asarray(told, dtype=np.bool_)

    def progress_of(self, state: FloatArray) -> FloatArray:
        """Return the progress of each state `(n, state_dim)` as `(n,)`, in [0, 1]."""
        config = self._task.file.progress
        kwargs = {} if config is None else config.kwargs
        values = self._ask("progress", self._named(state), kwargs, lambda v: np.asarray(v, dtype=np.float64))
        what = f"{self._task.name}: progress must answer one value in [0, 1] for each state"
        if values.shape != (len(state),):
            raise TaskError(f"{what}; it answered shape {values.shape} to {len(state)} states")
        clipped: FloatArray = np.clip(values, 0.0, 1.0)
        wrong = ~(np.abs(values - clipped) <= PROGRESS_TOLERANCE)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise TaskError(f"{what}; it answered {values[row]:g} to {self._shown(state[row])}")
        return clipped

    def _shown(self, row: FloatArray) -> str:
        return ", ".join(
            f"{name} {value[0].tolist()}" for name, value in self._layout.view(row[None]).items()
        )

    def judge(
        self,
        *,
        state: FloatArray,
        action: ActionArray,
        told: list[bool],
        terminated: bool,
        env_return: float,
        origin: str,
    ) -> Trajectory:
        """Return an episode with its fitness, progress and success."""
        flags = self.flags(state[1:], told)
        success = self._task.file.success
        episode = Episode(
            state=self._named(state),
            action=action,
            success=flags,
            terminated=terminated,
            env_return=env_return,
        )
        last = None if flags is None else bool(flags[-1])
        solved = bool(flags.any()) if flags is not None and success and success.when == "any" else last
        return Trajectory(
            state=state,
            action=action,
            terminated=terminated,
            fitness=self._fitness(episode, solved),
            progress=self._progress(state),
            success=solved,
            success_last=last,
            origin=origin,
        )

    def _fitness(self, episode: Episode, solved: bool | None) -> float:
        kind = self._task.file.fitness
        if kind == "success":
            return float(bool(solved))
        if kind == "return":
            value = episode.env_return
        else:
            value = self._ask("fitness", episode, self._task.file.fitness_kwargs, float)
        if not np.isfinite(value):
            raise TaskError(f"{self._task.name}: the fitness of an episode is {value}")
        return value

    def _progress(self, state: FloatArray) -> float | None:
        config = self._task.file.progress
        if config is None:
            return None
        values = self.progress_of(state)[1:]
        return float({"mean": values.mean(), "best": values.max(), "last": values[-1]}[config.over])
