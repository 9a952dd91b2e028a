"""What was measured of a task: what its baselines and a reward by hand reach, and whether they differ."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.catalog import task_digest
from rewardsmith.services.tasks.schema import Task, TaskFile
from rewardsmith.services.yaml_file import load_yaml_model

MEASURED_FILE = "measured.yaml"
REFERENCE_FILE = "reference.py"
"""In a task's folder, a reward by hand that is known to work; no coder sees it."""
REFERENCE = "reference"
MIN_SEEDS = 5


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(_Part):
    """Fitness of one reward over seeds: interquartile mean and ends of its 95 % interval."""

    iqm: float
    low: float | None
    high: float | None


class Measured(_Part):
    """The content of measured.yaml, which `rewardsmith task measure` writes."""

    task_digest: str
    """Of the task's file and code at that time."""
    seeds: int
    total_timesteps: int
    wall_s: float
    """Of one training with its judging, as a mean; other work on the machine makes it longer."""
    cores: int
    """Of the machine."""
    versions: dict[str, str | None]
    fitness: dict[str, Figure]
    """By reward: `reference` and the task's baselines; one of which a training failed is left out."""
    discriminates: bool
    """Whether the reward matters: the reference is above what the learner is given without one."""
    why: str


def read_measured(task: Task) -> Measured | None:
    """Return what was measured of a task, or None where nothing was.

    Raises:
        TaskError: the file is wrong.
    """
    path = task.folder / MEASURED_FILE
    return load_yaml_model(path, Measured, TaskError) if path.is_file() else None


def is_current(measured: Measured, task: Task) -> bool:
    """Return whether the task is still what was measured."""
    return measured.task_digest == task_digest(task)


def measured_yaml(measured: Measured) -> str:
    """Return the text of measured.yaml."""
    text = yaml.safe_dump(measured.model_dump(mode="json"), sort_keys=False, width=110)
    return f"# Written by `rewardsmith task measure`.\n{text}"


def bare_baseline(task: TaskFile) -> str:
    """Return the baseline that stands for training without a designed reward."""
    return "sparse" if "sparse" in task.baselines else "zero"


def verdict(fitness: Mapping[str, Figure], *, bare: str, seeds: int) -> tuple[bool, str]:
    """Return whether rewards differ on a task, and why.

    They do where the 95 % interval of the reference lies above that of the bare baseline.

    Args:
        fitness: by reward; one of which a training failed is not there.
        bare: what the reference is compared with: `sparse`, or `zero` where the task has no success.
        seeds: how many there were for each.
    """
    if seeds < MIN_SEEDS:
        return False, f"fewer than {MIN_SEEDS} seeds prove nothing"
    missing = [name for name in (REFERENCE, bare) if name not in fitness]
    if missing:
        return False, f"a training of {missing[0]} failed"
    reference, other = fitness[REFERENCE], fitness[bare]
    is_above = reference.low is not None and other.high is not None and reference.low > other.high
    word = "above" if is_above else "not above"
    return is_above, f"the reference is {word} {bare}: {_shown(reference)} against {_shown(other)}"


def reference_file(task: Task) -> Path:
    """Return the file of a task's reward by hand.

    Raises:
        TaskError: it has none.
    """
    path = task.folder / REFERENCE_FILE
    if not path.is_file():
        raise TaskError(
            f"{task.name}: there is no {REFERENCE_FILE} in {task.folder}; write a reward that works, or "
            "name one by --reward"
        )
    return path


def _shown(figure: Figure) -> str:
    return f"{figure.iqm:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def as_figure(measure: Mapping[str, Any]) -> Figure:
    """Return the interquartile mean of an arm of a final comparison."""
    return Figure(iqm=measure["iqm"], low=measure["low"], high=measure["high"])
