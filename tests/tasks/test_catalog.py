"""Finding tasks: names, near matches, whose task comes first, and what identifies one."""

import shutil

import numpy as np
import pytest

from rewardsmith import resources
from rewardsmith.errors import MissingExtraError, TaskError
from rewardsmith.services.tasks.catalog import (
    find_task_folders,
    load_task,
    missing_extras,
    require_extras,
    task_digest,
)
from rewardsmith.worker.trainer.measures import Measures
from toy_tasks import MEASURED

SHIPPED = sorted(find_task_folders())


@pytest.fixture
def user_tasks(tmp_path, monkeypatch, task_folder):
    """A working directory whose ./tasks holds what the test puts there by `task_folder`."""
    monkeypatch.chdir(tmp_path)
    return task_folder


def test_a_task_is_found_by_full_name_short_name_folder_and_file(user_tasks):
    folder = user_tasks()
    for text in ("toy/walk", "walk", str(folder), "tasks/toy/walk", str(folder / "task.yaml")):
        task = load_task(text)
        assert (task.name, task.folder) == ("toy/walk", folder)


def test_a_users_task_hides_the_shipped_one(user_tasks):
    assert load_task("classic/pendulum").file.goal != "Walk along the line."
    folder = user_tasks(name="classic/pendulum")
    assert load_task("pendulum").folder == folder
    assert find_task_folders()["classic/pendulum"] == folder


def test_a_short_name_in_two_suites_must_be_told_in_full(user_tasks):
    user_tasks(name="a/same")
    user_tasks(name="b/same")
    with pytest.raises(TaskError, match="'same' is the name of several tasks: a/same, b/same"):
        load_task("same")
    assert load_task("b/same").name == "b/same"


@pytest.mark.parametrize("typo", ["pendulm", "classic/pendulm", "clasic/pendulum"])
def test_a_typo_is_answered_with_the_full_name(typo):
    with pytest.raises(TaskError, match=f"there is no task '{typo}'; did you mean classic/pendulum\\?"):
        load_task(typo)


def test_a_name_like_no_other_is_answered_with_the_command_that_lists_them():
    with pytest.raises(TaskError, match="`rewardsmith task list` names all tasks"):
        load_task("xyzzy-9")


def test_a_task_without_a_file_that_it_uses_is_refused(task_folder):
    folder = task_folder(MEASURED)
    (folder / "fitness.py").unlink()
    with pytest.raises(
        TaskError, match=r"task\.yaml: it uses fitness\.py, which is not at .*/walk/fitness\.py"
    ):
        load_task(str(folder))


def test_a_missing_extra_is_told_with_the_command_that_installs_it(toy_task):
    task = toy_task({"requires": ["numpy", "no_such_library"]})
    assert missing_extras(task) == ["no_such_library"]
    with pytest.raises(MissingExtraError, match=r"pip install 'rewardsmith\[no_such_library\]'"):
        require_extras(task)


def test_an_extra_that_is_there_is_not_missed(toy_task):
    require_extras(toy_task({"requires": ["numpy"]}))


def test_a_digest_depends_on_every_file_that_the_task_uses_and_on_no_other(task_folder):
    def digest():
        return task_digest(load_task(str(folder)))

    folder = task_folder(MEASURED)
    seen = {digest()}
    (folder / "notes.txt").write_text("not used")
    assert digest() in seen
    for name in ("env.py", "fitness.py", "task.yaml"):
        path = folder / name
        changed = path.read_text().replace("Walk along", "Go along") + "\n# changed\n"
        path.write_text(changed)
        assert digest() not in seen, name
        seen.add(digest())


def test_a_digest_does_not_depend_on_where_the_task_is(task_folder, tmp_path):
    moved = shutil.copytree(task_folder(), tmp_path / "elsewhere" / "walk")
    assert task_digest(load_task(str(task_folder()))) == task_digest(load_task(str(moved)))


def test_a_checkout_comes_before_what_a_wheel_carries(tmp_path, monkeypatch):
    for root in ("checkout", "package/_resources"):
        (tmp_path / root / "tasks").mkdir(parents=True)
    monkeypatch.setattr(resources, "_CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "package")
    assert resources.shipped_dir("tasks") == tmp_path / "package/_resources/tasks"
    (tmp_path / "checkout/pyproject.toml").touch()
    assert resources.shipped_dir("tasks") == tmp_path / "checkout/tasks"


def test_folders_are_searched_once_and_only_where_they_exist(tmp_path, monkeypatch):
    shipped = resources.shipped_dir("tasks")
    monkeypatch.chdir(tmp_path)
    assert resources.search_dirs("tasks") == [shipped]
    (tmp_path / "tasks").mkdir()
    assert resources.search_dirs("tasks") == [tmp_path / "tasks", shipped]
    monkeypatch.chdir(shipped.parent)
    assert resources.search_dirs("tasks") == [shipped]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_task_measures_every_state(name):
    task = load_task(name)
    measures = Measures(task)
    state = np.zeros((4, task.layout.dim))
    if task.file.progress is not None:
        assert measures.progress_of(state).shape == (4,)
    trajectory = measures.judge(
        state=state, action=np.zeros((3, 1)), told=[False] * 3, terminated=False, env_return=0.0, origin=""
    )
    assert np.isfinite(trajectory.fitness)
    assert task.file.fitness_doc, "a report needs to know what the fitness means"


def test_both_suites_are_shipped():
    assert {"classic/pendulum", "metaworld/drawer-open"} <= set(SHIPPED)
