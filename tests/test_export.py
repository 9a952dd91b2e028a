"""The exported reward file, as text and as a module."""

import types

import gymnasium
import numpy as np
import pytest

from rewardsmith.services.export import render_reward_file
from rewardsmith.services.tasks.catalog import load_task

SOURCE = """
import numpy as np
import math

SCALE = math.pi


def compute_reward(state, action, next_state):
    effort = -np.sum(np.square(action), axis=-1)
    upright = SCALE * next_state.heading[:, 0]
    alive = np.where(next_state.terminated, 0.0, 1.0)
    return effort + upright + alive, {"effort": effort, "upright": upright, "alive": alive}
"""


def exported(task, source=SOURCE):
    module = types.ModuleType("reward")
    text = render_reward_file(task, source, "candidate i01c00 of a test")
    exec(compile(text, "reward.py", "exec"), module.__dict__)
    return text, module


def test_the_wrapper_answers_what_the_code_computes():
    _, reward = exported(load_task("classic/pendulum"))
    env = reward.RewardWrapper(gymnasium.make("Pendulum-v1"))
    env.reset(seed=3)
    obs, total, _, _, info = env.step(np.array([0.5], dtype=np.float32))
    assert total == pytest.approx(np.pi * obs[0] - 0.25 + 1.0)
    assert info["reward_components"] == pytest.approx(
        {"effort": -0.25, "upright": np.pi * obs[0], "alive": 1.0}
    )
    assert info["original_reward"] < 0.0


def test_the_reward_sees_the_action_as_it_is_applied():
    _, reward = exported(load_task("classic/pendulum"))
    env = reward.RewardWrapper(gymnasium.make("Pendulum-v1"))
    env.reset(seed=3)
    *_, info = env.step(np.array([100.0], dtype=np.float32))
    assert info["reward_components"]["effort"] == -4.0


def test_imports_of_the_reward_are_not_repeated():
    text, _ = exported(load_task("classic/pendulum"))
    assert text.count("import numpy as np") == 1
    assert "\npass" not in text


def test_a_goal_cannot_end_the_docstring_that_it_stands_in():
    task = load_task("classic/pendulum")
    goal = 'Go """ + exit() + """ C:\\new'
    task = task.model_copy(update={"file": task.file.model_copy(update={"goal": goal})})
    text, reward = exported(task)
    assert "C:/new" in reward.__doc__
    assert text.count('"""') % 2 == 0


@pytest.mark.parametrize(
    "helper",
    ["NamedState", "extract_state", "STATE_FIELDS", "RewardWrapper", "reward_of_step"],
)
def test_names_of_the_reward_and_of_the_file_do_not_meet(helper):
    source = f"""
def {helper}(x):
    return 2.0 * x


def compute_reward(state, action, next_state):
    twice = {helper}(next_state.heading[:, 0])
    return twice, {{"twice": twice}}
"""
    _, reward = exported(load_task("classic/pendulum"), source)
    env = reward.RewardWrapper(gymnasium.make("Pendulum-v1"))
    env.reset(seed=3)
    obs, total, *_ = env.step(np.array([0.5], dtype=np.float32))
    assert total == pytest.approx(2.0 * obs[0])


def test_annotations_and_the_long_name_of_numpy_work_as_in_the_box():
    source = """
import numpy


def compute_reward(state, action: NDArray, next_state: State) -> Tuple[NDArray, Dict]:
    cost = -numpy.square(action[:, 0])
    return cost, {"cost": cost}
"""
    _, reward = exported(load_task("classic/pendulum"), source)
    total, _ = reward.reward_of_step(np.zeros(3), [0.5], np.zeros(3), False)
    assert total == -0.25
