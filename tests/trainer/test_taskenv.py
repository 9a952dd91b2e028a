"""The environment of a task: how it is made, and what it records beside every step."""

import sys

import gymnasium as gym
import numpy as np
import pytest

from rewardsmith.errors import TaskError
from rewardsmith.worker.trainer.taskenv import (
    STATE_KEY,
    SUCCESS_KEY,
    EnvMaker,
)
from trainer.walks import PENDULUM, play


def make(task):
    return EnvMaker(task).make()


def test_every_step_carries_the_state_and_what_is_told_of_success(toy_task):
    states, infos = play(make(toy_task()), 3, seed=7)
    np.testing.assert_array_equal(states, [[7, 0], [8, 1], [9, 2], [10, 3]])
    assert states.dtype == np.float64
    assert [info.get(SUCCESS_KEY) for info in infos] == [None, False, True, False]


def test_a_dict_that_an_environment_uses_again_does_not_mix_steps_up(toy_task):
    env = make(toy_task())
    _, first = env.reset(seed=7)
    *_, second = env.step(np.zeros(2, dtype=np.float32))
    assert (first[STATE_KEY][0], second[STATE_KEY][0]) == (7, 8)


def test_fields_come_from_info_and_from_state_py(toy_task):
    fields = [
        {"name": "pair", "source": "info.pair", "shape": [2]},
        {"name": "second", "source": "info.pair[1]"},
        {"name": "length", "source": "state.py"},
    ]
    code = "def length(obs, info, env):\n    return env.unwrapped.length + obs[1]\n"
    states, _ = play(make(toy_task({"state": fields}, {"state.py": code})), 1, seed=4)
    np.testing.assert_array_equal(states, [[4, -4, -4, 3], [5, -5, -5, 4]])


def test_fields_come_from_a_dict_observation(toy_task):
    fields = [{"name": "clock", "source": "obs.clock[0]"}, {"name": "place", "source": "obs.place"}]
    states, _ = play(make(toy_task({"env": {"factory": "env.py:make_dict"}, "state": fields})), 1, seed=5)
    np.testing.assert_array_equal(states, [[0, 5], [1, 6]])


def test_fields_come_from_mujoco(toy_task):
    pytest.importorskip("mujoco")
    fields = [
        {"name": "pole", "source": "mujoco.body.pole", "shape": [3]},
        {"name": "angle", "source": "mujoco.qpos[1]"},
        {"name": "speed", "source": "mujoco.qvel[0:2]", "shape": [2]},
    ]
    task = toy_task(PENDULUM | {"env": {"id": "InvertedPendulum-v5"}, "state": fields})
    env = make(task)
    env.reset(seed=0)
    *_, info = env.step(np.ones(1, dtype=np.float32))
    data = env.unwrapped.data
    np.testing.assert_array_equal(info[STATE_KEY], [*data.body("pole").xpos, data.qpos[1], *data.qvel[:2]])
    env.close()


def test_an_action_repeated_adds_its_rewards_up(toy_task):
    env = make(toy_task({"env": {"factory": "env.py:make", "action_repeat": 2, "kwargs": {"length": 5}}}))
    env.reset(seed=0)
    steps = [env.step(np.zeros(2, dtype=np.float32)) for _ in range(3)]
    assert [reward for _, reward, *_ in steps] == [20.0, 20.0, 10.0]
    assert [info[STATE_KEY][1] for *_, info in steps] == [2, 4, 5]
    assert [bool(terminated) for _, _, terminated, _, _ in steps] == [False, False, True]


def test_a_time_limit_counts_simulation_steps(toy_task):
    limited = {"factory": "env.py:make", "kwargs": {"length": 50}, "max_episode_steps": 6, "action_repeat": 3}
    for config in (limited, {"id": "Pendulum-v1", "max_episode_steps": 6, "action_repeat": 3}):
        task = toy_task(PENDULUM | {"env": config, "state": [{"name": "first", "source": "obs[0]"}]})
        env = make(task)
        env.reset(seed=0)
        zero = np.zeros(env.action_space.shape, dtype=np.float32)
        assert [bool(env.step(zero)[3]) for _ in range(2)] == [False, True]


def test_an_environment_without_a_limit_keeps_its_own(toy_task):
    assert (
        make(toy_task(PENDULUM | {"env": {"id": "Pendulum-v1"}})).get_wrapper_attr("_max_episode_steps")
        == 200
    )


def test_kwargs_and_the_render_mode_reach_the_environment(toy_task):
    task = toy_task({"env": {"factory": "env.py:make", "kwargs": {"length": 9}}})
    env = EnvMaker(task).make(render_mode="rgb_array")
    assert (env.unwrapped.length, env.unwrapped.render_mode) == (9, "rgb_array")


def test_a_factory_may_be_in_an_installed_module(toy_task):
    config = {"factory": "gymnasium:make", "kwargs": {"id": "Pendulum-v1"}}
    assert make(toy_task(PENDULUM | {"env": config})).spec.id == "Pendulum-v1"


def test_modules_that_register_an_id_are_imported(toy_task, tmp_path, monkeypatch):
    (tmp_path / "registers_walk.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Registered-v0', lambda **kw: gymnasium.make('Pendulum-v1', **kw).unwrapped)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(gym.registry, "Registered-v0", raising=False)
    task = toy_task(PENDULUM | {"env": {"id": "Registered-v0", "imports": ["registers_walk"]}})
    try:
        assert make(task).spec.id == "Registered-v0"
    finally:
        gym.registry.pop("Registered-v0", None)
        sys.modules.pop("registers_walk", None)


def test_prepared_environments_are_handed_out_first_and_once(toy_task):
    maker = EnvMaker(toy_task())
    maker.prepare(2)
    prepared = list(maker._prepared)
    made = [maker.make() for _ in range(3)]
    assert set(map(id, made[:2])) == set(map(id, prepared))
    assert made[2] not in prepared


def test_a_prepared_environment_is_not_used_for_video(toy_task):
    maker = EnvMaker(toy_task())
    maker.prepare(1)
    assert maker.make(render_mode="rgb_array").unwrapped.render_mode == "rgb_array"
    assert len(maker._prepared) == 1


STATE_PY = [{"name": "height", "source": "state.py"}]


@pytest.mark.parametrize(
    ("changes", "files", "expected"),
    [
        ({"env": {"id": "NoSuchThing-v0"}}, {}, "toy/walk: cannot make NoSuchThing-v0 (NameNotFound: "),
        (
            {"env": {"factory": "env.py:make", "kwargs": {"speed": 1}}},
            {},
            "cannot make env.py:make (TypeError: ",
        ),
        ({"env": {"factory": "env.py:absent"}}, {}, "env.py: it defines no 'absent'"),
        ({"env": {"factory": "env.py:no_function"}}, {}, "env.py: it defines no 'no_function'"),
        (
            {"env": {"factory": "no_such_module:make"}},
            {},
            "toy/walk: cannot import no_such_module (ModuleNotFound",
        ),
        ({"env": {"id": "Pendulum-v1", "imports": ["no_such_module"]}}, {}, "cannot import no_such_module"),
        ({}, {"env.py": "import no_such_module"}, "env.py: cannot be imported (ModuleNotFoundError: "),
        ({}, {"env.py": "def make(:"}, "env.py: cannot be imported (SyntaxError: "),
        ({"state": STATE_PY}, {"state.py": ""}, "state.py: it defines no 'height'"),
    ],
)
def test_an_environment_that_cannot_be_made_is_the_tasks_fault(toy_task, changes, files, expected):
    with pytest.raises(TaskError) as caught:
        make(toy_task(changes, files))
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("obs[9]", "IndexError: "),
        ("obs.height", "IndexError: "),
        ("info.height", "KeyError: 'height'"),
        ("mujoco.qpos[0]", "AttributeError: "),
    ],
)
def test_a_source_that_is_not_there_is_the_tasks_fault(toy_task, source, reason):
    env = make(toy_task({"state": [{"name": "height", "source": source}]}))
    with pytest.raises(TaskError) as caught:
        env.reset(seed=0)
    assert f"toy/walk: the state cannot be read ({reason}" in str(caught.value)


@pytest.mark.parametrize(("source", "found"), [("obs[0:1]", 1), ("obs[:]", 2)])
def test_a_source_of_another_size_than_its_shape_is_the_tasks_fault(toy_task, source, found):
    field = {"name": "place", "source": source, "shape": [3]}
    with pytest.raises(TaskError, match=f"the sources answer {found} values, the fields declare 3; compare"):
        make(toy_task({"state": [field]})).reset(seed=0)


def test_a_success_that_is_not_told_is_the_tasks_fault(toy_task):
    env = make(toy_task({"env": {"factory": "env.py:make_silent"}, "success": {"source": "info.success"}}))
    env.reset(seed=0)
    with pytest.raises(TaskError, match="toy/walk: success: a step's info has no 'success'"):
        env.step(np.zeros(2, dtype=np.float32))
