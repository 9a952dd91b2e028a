"""Success, progress and fitness of episodes whose numbers are known."""

import numpy as np
import pytest

from rewardsmith.errors import TaskError
from rewardsmith.worker.trainer.measures import Measures
from toy_tasks import MEASURED


def judge(task, n_steps=3, told=None, env_return=0.0):
    """An episode of the walk from place 5."""
    state = np.array([[5.0 + i, i] for i in range(n_steps + 1)])
    return Measures(task).judge(
        state=state,
        action=np.zeros((n_steps, 2)),
        told=told or [False] * n_steps,
        terminated=True,
        env_return=env_return,
        origin="who",
    )


@pytest.mark.parametrize(
    ("told", "when", "success", "last"),
    [
        ([False, True, False], "any", True, False),
        ([False, True, False], "last", False, False),
        ([False, False, True], "last", True, True),
        ([False, False, False], "any", False, False),
    ],
)
def test_success_is_that_of_any_step_or_of_the_last(toy_task, told, when, success, last):
    found = judge(toy_task({"success": {"source": "info.success", "when": when}}), told=told)
    assert (found.success, found.success_last, found.fitness) == (success, last, float(success))


def test_success_may_be_computed_from_the_state(toy_task):
    measured = MEASURED | {"success": {"source": "fitness.py", "when": "any"}}
    assert judge(toy_task(measured), told=[False] * 3).success is True
    assert judge(toy_task(measured), n_steps=1, told=[True]).success is False


def test_the_first_state_is_no_success_of_the_policy(toy_task):
    code = "def success(state):\n    return state.clock == 0\n"
    task = toy_task({"success": {"source": "fitness.py"}}, {"fitness.py": code})
    assert judge(task).success is False


def test_a_task_without_success_has_none(toy_task):
    found = judge(toy_task({"success": None, "fitness": "return", "baselines": []}), env_return=-7.5)
    assert (found.success, found.success_last, found.progress, found.fitness) == (None, None, None, -7.5)


def test_fitness_may_be_the_tasks_own_function(toy_task):
    found = judge(toy_task(MEASURED))
    assert (found.fitness, found.origin, found.terminated) == (3.0, "who", True)


def test_the_fitness_function_is_given_the_whole_episode(toy_task):
    code = (
        "def success(state):\n    return state.clock == 2\n\n\n"
        "def fitness(episode):\n"
        "    assert episode.state.place.shape == (4,)\n"
        "    assert episode.action.shape == (3, 2)\n"
        "    assert episode.success.tolist() == [False, True, False]\n"
        "    return episode.env_return + episode.terminated\n"
    )
    task = toy_task(MEASURED | {"progress": None, "baselines": []}, {"fitness.py": code})
    assert judge(task, env_return=4.0).fitness == 5.0


@pytest.mark.parametrize(("over", "expected"), [("mean", 0.2), ("best", 0.3), ("last", 0.3)])
def test_progress_is_that_of_the_states_after_the_first(toy_task, over, expected):
    task = toy_task(MEASURED | {"progress": {"source": "fitness.py", "over": over}})
    assert judge(task).progress == pytest.approx(expected)


def test_the_best_progress_need_not_be_the_last(toy_task):
    code = "def progress(state):\n    return (state.clock % 3) / 4\n"
    base = {"baselines": [], "progress": {"source": "fitness.py", "over": "best"}}
    assert judge(toy_task(base, {"fitness.py": code})).progress == 0.5
    base["progress"]["over"] = "last"
    assert judge(toy_task(base, {"fitness.py": code})).progress == 0.0


@pytest.mark.parametrize("value", ["state.clock", "-state.clock - 1", "state.clock * float('nan')", "0.5"])
def test_a_progress_outside_its_range_is_the_tasks_fault(toy_task, value):
    code = f"def progress(state):\n    return {value}\n"
    task = toy_task({"progress": {"source": "fitness.py"}}, {"fitness.py": code})
    with pytest.raises(TaskError, match=r"progress must answer one value in \[0, 1\] for each state"):
        judge(task)


@pytest.mark.parametrize("value", ["True", "state.clock[:1] > 0", "(state.clock > 0)[:, None]"])
def test_a_success_of_another_shape_is_the_tasks_fault(toy_task, value):
    code = f"def success(state):\n    return {value}\n"
    task = toy_task({"success": {"source": "fitness.py"}}, {"fitness.py": code})
    with pytest.raises(TaskError, match="success must answer one value for each state"):
        judge(task)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_fitness_that_is_no_number_is_the_tasks_fault(toy_task, value):
    code = f"def fitness(episode):\n    return float('{value}')\n"
    with pytest.raises(TaskError, match=f"the fitness of an episode is {value}"):
        judge(toy_task({"fitness": "fitness.py"}, {"fitness.py": code}))


@pytest.mark.parametrize("name", ["success", "progress", "fitness"])
def test_a_missing_function_is_named_with_its_file(toy_task, name):
    functions = {
        "success": "def success(state):\n    return state.clock == 0\n",
        "progress": "def progress(state):\n    return state.clock * 0\n",
        "fitness": "def fitness(episode):\n    return 0.0\n",
    }
    del functions[name]
    task = toy_task(MEASURED, {"fitness.py": "".join(functions.values())})
    with pytest.raises(TaskError, match=rf"walk/fitness\.py: it defines no '{name}'"):
        judge(task)


def test_tasks_may_share_a_file_of_measures_and_give_it_arguments_of_their_own(toy_task):
    shared = (
        "def success(state, at):\n    return state.clock >= at\n"
        "def progress(state, steps):\n    return state.clock / steps\n"
        "def fitness(episode, scale):\n    return scale * float(episode.success.mean())\n"
    )
    task = toy_task(
        {
            "success": {"source": "../measures.py", "kwargs": {"at": 3}},
            "progress": {"source": "../measures.py", "over": "last", "kwargs": {"steps": 4}},
            "fitness": "../measures.py",
            "fitness_kwargs": {"scale": 6.0},
        },
        {"../measures.py": shared},
    )
    trajectory = judge(task)
    assert (trajectory.success_last, trajectory.progress, trajectory.fitness) == (True, 0.75, 2.0)
    assert [path.name for path in task.code_files] == ["measures.py", "env.py"]


def test_a_file_of_a_shipped_suite_is_found_from_a_task_of_ones_own(toy_task):
    task = toy_task({"env": {"factory": "metaworld/env.py:make", "kwargs": {"env_name": "reach-v3"}}})
    (path,) = task.code_files
    assert path.is_file()
    assert path.parent.name == "metaworld"
