"""From what a user asks for to the whole configuration of a run."""

import difflib
import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from rewardsmith import __version__
from rewardsmith.config import METHODS_DIR, BudgetConfig, MethodConfig, RunConfig, SandboxName
from rewardsmith.errors import ConfigError
from rewardsmith.services.models.factory import open_coder
from rewardsmith.services.sandbox.factory import check_sandbox_name
from rewardsmith.services.tasks.catalog import load_task, require_extras, task_digest
from rewardsmith.services.tasks.schema import Task
from rewardsmith.services.yaml_file import describe_fault, load_yaml_model, parse_yaml

TASK_PREFIX = "task."
_RECORDED_PACKAGES = ("gymnasium", "stable-baselines3", "torch", "numpy", "mujoco", "metaworld")

Model = TypeVar("Model", bound=BaseModel)


def load_method(text: str) -> MethodConfig:
    """Return a shipped method by name, or one from a YAML file.

    Raises:
        ConfigError: there is none, or its file is wrong.
    """
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return load_yaml_model(path, MethodConfig)
    shipped = {file.stem: file for file in sorted(METHODS_DIR.glob("*.yaml"))}
    if text not in shipped:
        near = difflib.get_close_matches(text, shipped, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"methods: {', '.join(shipped)}"
        raise ConfigError(f"there is no method {text!r}; {hint} (a file ends in .yaml)")
    return load_yaml_model(shipped[text], MethodConfig)


def resolve(
    *,
    task: str,
    method: str,
    settings: Sequence[str],
    model: str,
    seed: int,
    workers: int,
    sandbox: SandboxName,
    budget: BudgetConfig,
) -> RunConfig:
    """Return the whole configuration of a new run.

    Args:
        task: name or folder of the task.
        method: name or file of the method.
        settings: `key=value` with a dotted key of the method, or of the task after `task.`.
        model: who writes the rewards.
        seed: of everything.
        workers: trainings at a time.
        sandbox: backend for reward code.
        budget: the most that the run may use.

    Raises:
        ConfigError: a name, key or value is wrong.
        TaskError: the task is, or an extra that it needs is missing.
    """
    check_sandbox_name(sandbox)
    open_coder(model)
    found = load_task(task)
    chosen = load_method(method)
    of_task = [text.removeprefix(TASK_PREFIX) for text in settings if text.startswith(TASK_PREFIX)]
    of_method = [text for text in settings if not text.startswith(TASK_PREFIX)]
    found = Task(name=found.name, folder=found.folder, file=_with_settings(found.file, of_task, TASK_PREFIX))
    chosen = _with_settings(chosen, of_method)
    require_extras(found)
    return RunConfig(
        task=found.name,
        task_folder=str(found.folder),
        task_file=found.file.model_dump(mode="json"),
        task_digest=task_digest(found),
        model=model,
        method_name=Path(method).stem,
        method=chosen,
        seed=seed,
        workers=workers,
        sandbox=sandbox,
        budget=budget,
        versions=_versions(),
    )


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
