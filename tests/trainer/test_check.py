"""What `task check` finds in tasks that are wrong in one way each."""

import numpy as np
import pytest

from rewardsmith.services.tasks.catalog import load_task, missing_extras
from rewardsmith.worker.trainer.check import N_STEPS, check_task
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import EnvMaker
from toy_tasks import MEASURED
from trainer.walks import PENDULUM

PLACE = {"name": "place", "source": "obs[0]"}
CLOCK = {"name": "clock", "source": "obs[1]"}
LONG = {"factory": "env.py:make", "kwargs": {"length": 250}}
WIDE = {"fitness.py": "def progress(state):\n    return state.clock / 1000\n"}


def findings(task, level=None):
    found = check_task(EnvMaker(task), Measures(task), seed=0)
    return [finding["text"] for finding in found if level in (None, finding["level"])]


def test_a_good_task_has_no_error_and_no_warning(toy_task):
    task = toy_task(PENDULUM | {"env": {"id": "Pendulum-v1", "max_episode_steps": 100}})
    assert findings(task, "warning") == findings(task, "error") == []
    ok = findings(task, "ok")
    assert ok[0] == f"10 random episodes, {N_STEPS} steps"
    assert ok[1] == "state layout: 2 fields, 3 values"
    assert ok[2].startswith("fitness: -")
    assert ok[3] == "the same seed gives the same episode, whatever was played before"


@pytest.mark.parametrize(("source", "n"), [("obs[0:1]", 1), ("obs[:]", 2)])
def test_a_field_of_another_size_than_its_source_is_an_error(toy_task, source, n):
    task = toy_task({"env": LONG, "state": [{"name": "place", "source": source, "shape": [3]}]})
    (text,) = findings(task)
    assert f"the sources answer {n} values, the fields declare 3; compare each field's shape" in text


def test_a_measure_that_fails_is_an_error_in_its_own_words(toy_task):
    (text,) = findings(toy_task(MEASURED | {"env": LONG}), "error")
    assert "progress must answer one value in [0, 1]" in text


def test_values_outside_the_declared_range_are_a_warning(toy_task):
    state = [PLACE, CLOCK | {"low": 0.0, "high": 100.0}]
    (text,) = findings(toy_task({"env": LONG, "state": state}), "warning")[:1]
    assert text == "state field clock: 0 to 250, not 0.0 to 100.0"
    state = [PLACE, CLOCK | {"low": 30.0}]
    assert findings(toy_task({"env": LONG, "state": state}), "warning")[0].endswith("not 30.0 to None")


def test_values_a_little_outside_are_not(toy_task):
    state = [PLACE, CLOCK | {"low": 5.0, "high": 245.0}]
    assert not any("clock" in text for text in findings(toy_task({"env": LONG, "state": state}), "warning"))


def test_a_field_that_never_changes_is_a_warning(toy_task):
    code = {"state.py": "def gravity(obs, info, env):\n    return 9.81\n"}
    task = toy_task({"env": LONG, "state": [PLACE, {"name": "gravity", "source": "state.py"}]}, code)
    assert "state field gravity: always 9.81 under random actions" in findings(task, "warning")


def test_a_field_that_is_not_finite_is_an_error(toy_task):
    assert findings(toy_task({"env": {"factory": "env.py:make_broken"}}), "error") == [
        "state field place: not every value is finite"
    ]


def test_measures_that_never_vary_leave_nothing_to_prefer(toy_task):
    task = toy_task(MEASURED | {"env": LONG}, {"fitness.py": CONSTANT})
    assert findings(task, "warning") == [
        "progress: 0.5 to 0.5 over random episodes",
        "neither fitness nor progress varies: no preference can be told from random episodes",
    ]


CONSTANT = """
import numpy as np


def success(state):
    return state.clock < 0


def progress(state):
    return np.full(len(state.clock), 0.5)


def fitness(episode):
    return 0.0
"""


def test_an_environment_that_forgets_its_seed_is_an_error(toy_task):
    env = {"factory": "env.py:make", "kwargs": {"length": 250, "forgets_seed": True}}
    (text,) = findings(toy_task({"env": env}), "error")
    assert "resets with the same seed gave different episodes" in text


def test_environments_are_closed(toy_task):
    closed = []
    task = toy_task({"env": LONG})
    maker = EnvMaker(task)
    make = maker.make

    def watched():
        env = make()
        env.unwrapped.close = lambda: closed.append(1)
        return env

    maker.make = watched
    check_task(maker, Measures(task), seed=0)
    assert len(closed) == 2 + task.file.training.n_envs


@pytest.mark.parametrize(
    ("hyperparameters", "fault"),
    [
        (
            {"n_stepz": 64},
            "training.hyperparameters.n_stepz: unknown to PPO; it knows learning_rate, n_steps",
        ),
        ({"learning_rate": "abc"}, "training: PPO cannot be made"),
        ({"learning_rate": -1.0}, "training: PPO cannot be made"),
    ],
)
def test_training_settings_that_make_no_learner_are_an_error(toy_task, hyperparameters, fault):
    training = {"n_envs": 2, "hyperparameters": hyperparameters}
    (text,) = findings(toy_task({"env": LONG, "training": training}), "error")
    assert fault in text
    assert len(text) < 500


def test_an_algorithm_for_other_actions_is_an_error(toy_task):
    env = {"id": "CartPole-v1"}
    training = {"algorithm": "SAC", "n_envs": 1}
    task = toy_task({"env": env, "training": training, "state": [{"name": "x", "source": "obs[0]"}]})
    (text,) = findings(task, "error")
    assert "SAC cannot be made" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["metaworld/door-unlock", "metaworld/handle-press"])
def test_where_a_thing_stands_does_not_depend_on_the_episode_before(name):
    """Meta-World reads the position of some things before it has moved them to their new place."""
    task = load_task(name)
    if missing_extras(task):
        pytest.skip("needs the extra metaworld")
    first, second = EnvMaker(task).make(), EnvMaker(task).make()
    second.reset(seed=2)
    np.testing.assert_array_equal(first.reset(seed=1)[0], second.reset(seed=1)[0])
