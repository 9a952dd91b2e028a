"""From what a user asks for to the whole configuration of a run."""

import difflib
import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from rewardsmith import __version__
from rewardsmith.config import METHODS_DIR, BudgetConfig, MethodConfig, ModelConfig, RunConfig, SandboxName
from rewardsmith.errors import ConfigError
from rewardsmith.services.chat.names import BUILTIN, check_access, choose_models, is_language_model, price
from rewardsmith.services.prompting import check_templates
from rewardsmith.services.sandbox.factory import check_sandbox_name
from rewardsmith.services.tasks.catalog import load_task, require_extras, task_digest
from rewardsmith.services.tasks.schema import Task
from rewardsmith.services.yaml_file import describe_fault, load_yaml_model, parse_yaml

NO_SEARCH = "baselines"
"""The method that searches nothing and trains what the final comparison needs."""
TASK_PREFIX = "task."
MODEL_PREFIX = "model."
EVALUATOR_PREFIX = "evaluator."
_RECORDED_PACKAGES = (
    "gymnasium",
    "stable-baselines3",
    "torch",
    "numpy",
    "mujoco",
    "metaworld",
    "openai",
    "litellm",
)

Model = TypeVar("Model", bound=BaseModel)


def shipped_methods() -> dict[str, Path]:
    """Return the files of the shipped methods by name."""
    return {file.stem: file for file in sorted(METHODS_DIR.glob("*.yaml"))}


def method_file(text: str) -> Path:
    """Return the file of a method: a shipped one by name, or the given path.

    Raises:
        ConfigError: there is no shipped method of this name.
    """
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return path
    shipped = shipped_methods()
    if text not in shipped:
        near = difflib.get_close_matches(text, shipped, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"methods: {', '.join(shipped)}"
        raise ConfigError(f"there is no method {text!r}; {hint} (a file ends in .yaml)")
    return shipped[text]


def load_method(text: str) -> MethodConfig:
    """Return a shipped method by name, or one from a YAML file.

    Raises:
        ConfigError: there is none, or its file is wrong.
    """
    return load_yaml_model(method_file(text), MethodConfig)


def flat(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return every key of a method, as JSON holds it, dotted, with its value."""
    return {
        f"{part}.{key}": value
        for part, keys in method.items()
        if isinstance(keys, dict)
        for key, value in keys.items()
    }


def resolve(
    *,
    task: str,
    method: str,
    settings: Sequence[str],
    model: ModelConfig | str,
    evaluator: ModelConfig | None = None,
    seed: int,
    workers: int,
    sandbox: SandboxName,
    allow_weak_sandbox: bool = False,
    budget: BudgetConfig,
    root: Path = Path("runs"),
    dry: bool = False,
    reward: tuple[str, str] | None = None,
) -> RunConfig:
    """Return the whole configuration of a new run.

    Args:
        task: name or folder of the task.
        method: name or file of the method.
        settings: `key=value` with a dotted key of the method, or of task, model or evaluator after `task.`,
            `model.` or `evaluator.`.
        model: who writes the rewards.
        evaluator: who criticises them; None is whoever writes them.
        seed: of everything.
        workers: trainings at a time.
        sandbox: backend for reward code.
        allow_weak_sandbox: whether one that does not lock code up may be used.
        budget: the most that the run may use.
        root: where recorded runs are found by name.
        dry: whether nothing will be called, so that no key is needed.
        reward: code that is given instead of searched for, and where it comes from.

    Raises:
        ConfigError: a name, key or value is wrong.
        ModelError: a key is missing.
        TaskError: the task is wrong, or an extra that it needs is missing.
    """
    check_sandbox_name(sandbox, allow_weak=allow_weak_sandbox)
    found = load_task(task)
    chosen = load_method(method)
    for_task, for_model, for_evaluator, for_method = _sorted_out(settings)
    found = Task(name=found.name, folder=found.folder, file=_with_settings(found.file, for_task, TASK_PREFIX))
    chosen = _with_settings(chosen, for_method)
    coder, critic = choose_models(
        ModelConfig(name=model) if isinstance(model, str) else model,
        evaluator,
        wants_critique=chosen.feedback.critique,
        root=root,
    )
    coder = _with_settings(coder, for_model, MODEL_PREFIX)
    if critic is not None:
        critic = _with_settings(critic, for_evaluator, EVALUATOR_PREFIX)
    elif for_evaluator:
        raise ConfigError(f"--set {EVALUATOR_PREFIX}{for_evaluator[0]}: no evaluator is asked in this run")
    _check_model(coder, "--", budget, dry=dry)
    if critic is not None and critic is not coder:
        _check_model(critic, "--evaluator-", budget, dry=dry)
    if coder.name != BUILTIN:
        check_templates()
    require_extras(found)
    if chosen.store.expert_episodes and found.file.expert is None:
        raise ConfigError(f"store.expert_episodes: the task {found.name} names no expert")
    if chosen.train.shaping == "potential" and found.file.success is None:
        raise ConfigError(f"train.shaping: the task {found.name} has no success, which is what is shaped")
    return RunConfig(
        task=found.name,
        task_folder=str(found.folder),
        task_file=found.file.model_dump(mode="json"),
        task_digest=task_digest(found),
        model=coder,
        evaluator=critic,
        reward=reward and reward[0],
        reward_origin=reward[1] if reward else "",
        method_name=Path(method).stem,
        method=chosen,
        seed=seed,
        workers=workers,
        sandbox=sandbox,
        allow_weak_sandbox=allow_weak_sandbox,
        budget=budget,
        versions=_versions(),
    )


def _sorted_out(settings: Sequence[str]) -> list[list[str]]:
    """Return the settings of task, model and evaluator without their prefixes, then those of the method."""
    prefixes = (TASK_PREFIX, MODEL_PREFIX, EVALUATOR_PREFIX)
    named = [[text.removeprefix(p) for text in settings if text.startswith(p)] for p in prefixes]
    return [*named, [text for text in settings if not text.startswith(prefixes)]]


def _check_model(model: ModelConfig, prefix: str, budget: BudgetConfig, *, dry: bool) -> None:
    if not is_language_model(model.name):
        return
    if budget.max_usd is not None and price(model) is None:
        raise ConfigError(
            f"--max-usd: the price of {model.name} is not known, so that no limit in dollars can be "
            "kept; use --max-tokens"
        )
    if not dry:
        check_access(model, prefix=prefix)


def _with_settings(model: Model, settings: Sequence[str], prefix: str = "") -> Model:
    data: dict[str, Any] = model.model_dump(mode="json")
    for text in settings:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise ConfigError(f"--set {prefix}{text}: expected key=value")
        _set(data, key.split("."), _parse(value, prefix + text), f"--set {prefix}{key}")
    try:
        return type(model).model_validate(data)
    except ValidationError as bad:
        raise ConfigError(f"--set {prefix}{describe_fault(bad.errors()[0], type(model))}") from None


def _parse(value: str, text: str) -> Any:
    try:
        return parse_yaml(value)
    except yaml.YAMLError:
        raise ConfigError(f"--set {text}: the value is not YAML") from None


def _set(data: dict[str, Any], keys: list[str], value: Any, what: str) -> None:
    for depth, key in enumerate(keys[:-1]):
        inner = data.get(key)
        if not isinstance(inner, dict):
            near = difflib.get_close_matches(key, data, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(data)}"
            raise ConfigError(f"{what}: {'.'.join(keys[: depth + 1])} has no keys of its own{hint}")
        data = inner
    data[keys[-1]] = value


@cache
def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {"rewardsmith": __version__, "python": platform.python_version()}
    for name in _RECORDED_PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return versions | {"git": _git_revision()}


def _git_revision() -> str | None:
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
