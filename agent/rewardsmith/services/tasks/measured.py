"""What was measured of a task: what its baselines and a reward by hand reach, and whether they differ."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.catalog import task_digest
from rewardsmith.services.tasks.schema import Task
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
    """By reward: `reference` and the task's baselines."""
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


def verdict(fitness: Mapping[str, Figure]) -> tuple[bool, str]:
    """Return whether rewards differ on a task, and why.

    They do where the 95 % interval of the reference lies above that of the sparse success, or of a reward of
    zero where the task has no success.
    """
    reference = fitness.get(REFERENCE)
    bare_name = "sparse" if "sparse" in fitness else "zero"
    bare = fitness.get(bare_name)
    if reference is None or bare is None:
        return False, "a training failed"
    if reference.low is None or bare.high is None:
        return False, "one seed proves nothing"
    if reference.low > bare.high:
        return True, f"the reference is above {bare_name}: {_shown(reference)} against {_shown(bare)}"
    return False, f"the reference is not above {bare_name}: {_shown(reference)} against {_shown(bare)}"


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
