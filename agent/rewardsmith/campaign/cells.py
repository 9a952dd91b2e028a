"""What a campaign consists of: one run for each task, variant of a method, and seed."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rewardsmith.config import BudgetConfig, ModelConfig, RunConfig, SandboxName
from rewardsmith.errors import ConfigError
from rewardsmith.loop.setup import NO_SEARCH, resolve
from rewardsmith.services.tasks.catalog import load_task

_DIGEST_LENGTH = 8
_WITHOUT_EFFECT = {"workers", "sandbox", "allow_weak_sandbox", "task_folder", "task_file", "versions"}
"""Keys of a configuration that no result depends on, or that others stand for."""
_NEXT_SETTING = re.compile(r",(?=[a-z_]+\.[a-z_.]+=)")
"""A comma that begins another setting, not one inside a list."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A method with some keys changed, under a name for tables.

    Attributes:
        label: its name.
        method: a shipped method's name, or a YAML file.
        settings: `key=value`, as for `--set`.
    """

    label: str
    method: str
    settings: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Variant":
        """Return what `[LABEL: ]NAME[,key=value]...` means; without a label the text names itself.

        Raises:
            ConfigError: the method's name is missing.
        """
        label, separator, rest = text.partition(": ")
        method, *settings = _NEXT_SETTING.split((rest if separator else text).strip())
        if not method or "=" in method:
            raise ConfigError(f"{text!r}: expected [LABEL: ]METHOD[,key=value]...")
        return cls(label.strip(), method, tuple(settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run of a campaign.

    Attributes:
        task: name of the task.
        label: of the variant.
        seed: of the run.
        config: the whole configuration.
    """

    task: str
    label: str
    seed: int
    config: RunConfig

    @property
    def folder_name(self) -> str:
        """Name of the run's folder: equal for equal work, another for all that may change a result."""
        words = "-".join(re.findall(r"[a-z0-9]+", f"{self.task} {self.label}".lower()))
        return f"{words[:80]}-s{self.seed}-{config_digest(self.config)}"


def make_cells(
    *,
    tasks: Sequence[str],
    variants: Sequence[Variant],
    seeds: Sequence[int],
    settings: Sequence[str] = (),
    model: ModelConfig | None = None,
    evaluator: ModelConfig | None = None,
    sandbox: SandboxName = "auto",
    root: Path = Path("runs"),
) -> list[Cell]:
    """Return one cell for each combination, task by task.

    Args:
        tasks: names of tasks.
        variants: of methods; those of one label must not stand twice.
        seeds: of runs.
        settings: `key=value` for all variants; a variant's own come after them.
        model: who writes rewards; None is `builtin`.
        evaluator: who criticises them; None as for `rewardsmith run`.
        sandbox: backend for reward code.
        root: where recorded runs are found by name.

    Raises:
        RewardsmithError: a name, key or value is wrong, or something that a run needs is missing.
    """
    labels = [variant.label for variant in variants]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice!r} stands twice; give one of them a label: 'LABEL: METHOD,key=value'")
    cells = []
    for task, variant, seed in product(tasks, variants, seeds):
        config = resolve(
            task=task,
            method=variant.method,
            settings=[*settings, *variant.settings],
            model=model or ModelConfig(),
            evaluator=evaluator,
            seed=seed,
            # The runs of a campaign stand side by side; within one of them there is then nothing to win.
            workers=1,
            sandbox=sandbox,
            budget=BudgetConfig(),
            root=root,
        )
        cells.append(Cell(task=config.task, label=variant.label, seed=seed, config=config))
    return cells


def evaluator_cells(
    *,
    tasks: Sequence[str],
    seed: int,
    settings: Sequence[str],
    model: ModelConfig,
    sandbox: SandboxName,
    budget: BudgetConfig,
    label: str,
    root: Path = Path("runs"),
) -> list[Cell]:
    """Return for each task a run in which nothing is searched and `model` is the evaluator.

    Raises:
        RewardsmithError: a name, key or value is wrong, or the model cannot be used.
    """
    cells = []
    for task in tasks:
        has_expert = load_task(task).file.expert is not None
        config = resolve(
            task=task,
            method=NO_SEARCH,
            settings=["store.episodes=60", *(["store.expert_episodes=60"] if has_expert else []), *settings],
            model=model,
            seed=seed,
            workers=1,
            sandbox=sandbox,
            budget=budget,
            root=root,
        )
        if config.evaluator is None:
            raise ConfigError(f"--model {model.name}: it judges nothing; use a language model")
        cells.append(Cell(task=config.task, label=label, seed=seed, config=config))
    return cells


def config_digest(config: RunConfig) -> str:
    """Return what tells configurations apart that may give different results.

    Keys that have their default are left out, so that a later version with more keys finds its earlier runs.
    """
    data = config.model_dump(mode="json", exclude_defaults=True, exclude=_WITHOUT_EFFECT)
    versions = {name: version for name, version in config.versions.items() if name != "git"}
    text = json.dumps([data, versions], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
