"""Measures a task: trains its baselines and a reward by hand with several seeds."""

from pathlib import Path
from typing import Any

from rewardsmith.campaign.cells import config_digest
from rewardsmith.config import BudgetConfig, RunConfig
from rewardsmith.errors import TaskError
from rewardsmith.loop.finals import LABEL, WINNER
from rewardsmith.loop.reporter import Reporter
from rewardsmith.loop.run import execute
from rewardsmith.loop.setup import NO_SEARCH, resolve
from rewardsmith.services.journal.events import read_events
from rewardsmith.services.journal.folder import RunFolder
from rewardsmith.services.tasks.measured import (
    REFERENCE,
    Figure,
    Measured,
    as_figure,
    bare_baseline,
    verdict,
)
from rewardsmith.services.tasks.schema import Task, TaskFile


def measuring_config(
    task: Task, source: str, origin: str, *, seeds: int, workers: int, sandbox: Any
) -> RunConfig:
    """Return the configuration of the run that measures a task with a reward by hand.

    Args:
        task: to be measured.
        source: the reward's code.
        origin: where it comes from.
        seeds: for each reward.
        workers: trainings at a time.
        sandbox: where reward code runs.
    """
    return resolve(
        task=str(task.folder),
        method=NO_SEARCH,
        settings=(f"final.seeds={seeds}",),
        model="builtin",
        seed=0,
        workers=workers,
        sandbox=sandbox,
        budget=BudgetConfig(),
        reward=(source, origin),
    )


def measure_task(config: RunConfig, root: Path, reporter: Reporter, *, cores: int) -> Measured:
    """Run, or go on with, the trainings, and return what they came to.

    Args:
        config: of `measuring_config`.
        root: folder of such runs.
        reporter: shows progress.
        cores: of the machine, for the record.

    Raises:
        TaskError: the reward was turned down.
        RewardsmithError: what stopped it; the same call goes on.
    """
    path = root / f"{config.task.replace('/', '-')}-measure-{config_digest(config)}"
    folder = (
        RunFolder.open(path)
        if path.exists()
        else RunFolder.create(root, path.name, config.model_dump(mode="json"))
    )
    result = execute(folder, reporter)
    final = result["final"]
    if final is None:
        raise TaskError(f"{config.task}: {config.reward_origin}: {result['ended']}")
    fitness: dict[str, Figure] = {
        REFERENCE if name == WINNER else name: as_figure(arm["fitness_iqm"])
        for name, arm in final["arms"].items()
        # The mean of those that did not fail would flatter it.
        if not arm["n_failed"]
    }
    file, seeds = TaskFile.model_validate(config.task_file), config.method.final.seeds
    discriminates, why = verdict(fitness, bare=bare_baseline(file), seeds=seeds)
    return Measured(
        task_digest=config.task_digest,
        seeds=seeds,
        total_timesteps=file.training.total_timesteps,
        wall_s=round(_mean_training_s(folder), 1),
        cores=cores,
        versions={
            name: version
            for name, version in config.versions.items()
            if version is not None and name != "git"
        },
        fitness=fitness,
        discriminates=discriminates,
        why=why,
    )


def _mean_training_s(folder: RunFolder) -> float:
    """Return how long a training took, as a mean."""
    answers = (e for e in read_events(folder.journal_path) if e.type == "answer")
    times = [e.data["wall_s"] for e in answers if e.key.startswith(f"{LABEL}/")]
    return sum(times) / len(times) if times else 0.0
