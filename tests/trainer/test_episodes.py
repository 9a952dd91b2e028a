"""Judged episodes, and the noise that plays the first ones."""

import numpy as np
import pytest
from gymnasium import spaces

from rewardsmith.worker.trainer.episodes import NoiseActor, play_episodes
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import EnvMaker
from trainer.walks import CART_POLE, PENDULUM


def noise_episodes(task, seeds, n_envs):
    maker = EnvMaker(task)
    envs = [maker.make() for _ in range(n_envs)]
    act = NoiseActor(envs[0].action_space, seeds)
    return play_episodes(envs, seeds, act, Measures(task), "random")


def test_an_episode_is_recorded_from_its_first_state_to_its_last(toy_task):
    (found,) = noise_episodes(toy_task(), [7], 1)
    np.testing.assert_array_equal(found.state, [[7, 0], [8, 1], [9, 2], [10, 3]])
    assert found.action.shape == (3, 2)
    assert found.action.dtype == np.float64
    assert (found.terminated, found.success, found.success_last, found.origin) == (
        True,
        True,
        False,
        "random",
    )
    assert type(found.terminated) is bool, "NumPy's bool is no JSON"


def test_an_episode_that_is_truncated_did_not_terminate(toy_task):
    assert noise_episodes(toy_task(PENDULUM), [0], 1)[0].terminated is False


def test_the_environments_return_is_summed(toy_task):
    task = toy_task({"success": None, "fitness": "return", "baselines": []})
    assert noise_episodes(task, [3], 1)[0].fitness == 30.0


@pytest.mark.parametrize("changes", [PENDULUM, CART_POLE])
def test_the_number_of_environments_does_not_change_the_episodes(toy_task, changes):
    task = toy_task(changes)
    one, three = noise_episodes(task, [5, 6, 7, 8], 1), noise_episodes(task, [5, 6, 7, 8], 3)
    assert len(one) == len(three) == 4
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a.state, b.state)
        np.testing.assert_array_equal(a.action, b.action)
        assert a.fitness == b.fitness
    assert not np.array_equal(one[0].state[0], one[1].state[0])


def test_each_episode_is_asked_for_by_its_number(toy_task):
    asked = []

    def act(observations, episodes):
        asked.append([(int(obs[0]), number) for obs, number in zip(observations, episodes, strict=True)])
        return [np.zeros(2)] * len(episodes)

    task = toy_task()
    envs = [EnvMaker(task).make() for _ in range(2)]
    found = play_episodes(envs, [10, 20, 30], act, Measures(task), "")
    assert [int(t.state[0, 0]) for t in found] == [10, 20, 30]
    assert asked[0] == [(10, 0), (20, 1)]
    assert asked[-1] == [(32, 2)]


def test_actions_are_recorded_as_applied(toy_task):
    task = toy_task()
    act = lambda observations, episodes: [np.array([5.0, -0.25])] * len(episodes)  # noqa: E731
    (found,) = play_episodes([EnvMaker(task).make()], [0], act, Measures(task), "")
    np.testing.assert_array_equal(found.action, [[1.0, -0.25]] * 3)


def test_discrete_actions_are_recorded_as_a_column_of_integers(toy_task):
    (found,) = noise_episodes(toy_task(CART_POLE), [0], 1)
    assert found.action.dtype == np.int64
    assert found.action.shape == (len(found), 1)


def actions(space, seed, n=400):
    act = NoiseActor(space, [seed])
    return np.array([act([None], [0])[0] for _ in range(n)])


def test_noise_is_held_never_sometimes_or_long():
    shares = set()
    for seed in range(30):
        values = actions(spaces.Box(-1, 1, (1,)), seed)[:, 0]
        shares.add(round(float(np.mean(values[1:] == values[:-1])), 1))
    assert {0.0, 0.5, 0.9} <= shares <= {0.0, 0.4, 0.5, 0.6, 0.8, 0.9, 1.0}


def test_noise_fills_the_box_and_stays_in_it():
    space = spaces.Box(np.array([-1.0, 5.0], np.float32), np.array([1.0, 6.0], np.float32))
    values = np.concatenate([actions(space, seed, 100) for seed in range(10)])
    assert values.dtype == np.float32
    assert (values.min(0) < space.low + 0.05).all()
    assert (values.max(0) > space.high - 0.05).all()
    assert all(space.contains(value) for value in values)


def test_noise_in_an_unbounded_box_is_finite():
    assert np.abs(actions(spaces.Box(-np.inf, np.inf, (2,)), 0)).max() <= 1e3


def test_discrete_noise_takes_every_action():
    assert set(actions(spaces.Discrete(3, start=2), 0)) == {2, 3, 4}


def test_noise_depends_on_its_seed_alone():
    space = spaces.Box(-1, 1, (2,))
    np.testing.assert_array_equal(actions(space, 4), actions(space, 4))
    assert not np.array_equal(actions(space, 4), actions(space, 5))
