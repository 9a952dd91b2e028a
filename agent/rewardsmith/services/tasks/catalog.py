"""Finding tasks by name and reading their files."""

import difflib
import hashlib
import importlib.util
from pathlib import Path

from rewardsmith.errors import MissingExtraError, TaskError
from rewardsmith.resources import search_dirs
from rewardsmith.services.tasks.schema import Task, TaskFile
from rewardsmith.services.yaml_file import load_yaml_model

TASK_FILE = "task.yaml"

_MODULE_OF_EXTRA = {
    "metaworld": "metaworld",
    "mujoco": "mujoco",
    "box2d": "Box2D",
    "robotics": "gymnasium_robotics",
    "mo": "mo_gymnasium",
}


def find_task_folders() -> dict[str, Path]:
    """Return the folder of each task by its name `suite/name`; a user's own task hides a shipped one."""
    folders: dict[str, Path] = {}
    for root in search_dirs("tasks"):
        for file in sorted(root.glob(f"*/*/{TASK_FILE}")):
            folders.setdefault(f"{file.parent.parent.name}/{file.parent.name}", file.parent)
    return dict(sorted(folders.items()))


def load_task(text: str) -> Task:
    """Return the task named `text`: `suite/name`, a name that only one suite has, or a folder.

    Raises:
        TaskError: there is no such task (near matches are named), or its file is wrong.
    """
    path = Path(text)
    if path.name == TASK_FILE and path.is_file():
        path = path.parent
    if (path / TASK_FILE).is_file():
        return _read(path.resolve())
    folders = find_task_folders()
    matches = [name for name in folders if text in (name, name.split("/")[1])]
    if len(matches) == 1:
        return _read(folders[matches[0]])
    if matches:
        raise TaskError(f"{text!r} is the name of several tasks: {', '.join(matches)}")
    short_names = {name.split("/")[1]: name for name in folders}
    near = difflib.get_close_matches(text, [*folders, *short_names], n=3)
    near = list(dict.fromkeys(short_names.get(name, name) for name in near))
    hint = f"did you mean {' or '.join(near)}?" if near else "`rewardsmith task list` names all tasks"
    raise TaskError(f"there is no task {text!r}; {hint}")


def _read(folder: Path) -> Task:
    file = load_yaml_model(folder / TASK_FILE, TaskFile, TaskError)
    task = Task(name=f"{folder.parent.name}/{folder.name}", folder=folder, file=file)
    for code_file in task.code_files:
        if not code_file.is_file():
            raise TaskError(f"{folder / TASK_FILE}: it uses {code_file.name}, which is not at {code_file}")
    return task


def missing_extras(task: Task) -> list[str]:
    """Return the optional extras that the task needs and that are not installed."""
    return [extra for extra in task.file.requires if not is_installed(extra)]


def is_installed(extra: str) -> bool:
    """Return whether what an extra of rewardsmith installs is there."""
    return importlib.util.find_spec(_MODULE_OF_EXTRA.get(extra, extra)) is not None


def require_extras(task: Task) -> None:
    """Raise MissingExtraError, with the command that mends it, if an extra of the task is not installed."""
    missing = missing_extras(task)
    if missing:
        extras = ",".join(missing)
        raise MissingExtraError(
            f"the task {task.name} needs the extra {extras!r}: pip install 'rewardsmith[{extras}]'"
        )


def task_digest(task: Task) -> str:
    """Return a sha256 over the task's file and code: what a result of this task depends on.

    Keys that have their default are left out: a later version with more keys finds the task unchanged.
    """
    digest = hashlib.sha256(task.file.model_dump_json(exclude_defaults=True).encode())
    for path in task.code_files:
        digest.update(path.read_bytes())
    return digest.hexdigest()
