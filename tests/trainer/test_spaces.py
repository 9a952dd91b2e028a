"""Which actions and observations a policy can be trained on, and how they are passed on."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rewardsmith.errors import TaskError
from rewardsmith.worker.trainer.spaces import (
    action_array,
    action_spec,
    applied_action,
    flat_observations,
    random_action,
)


class Observes(gym.Env):
    """Observes a sample of one space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}


def test_box_actions_are_floats_with_bounds():
    spec = action_spec(spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 2.0]), dtype=np.float64), "toy/walk")
    assert (spec.dim, spec.discrete, spec.low, spec.high) == (2, False, (-1.0, 0.0), (1.0, 2.0))


@pytest.mark.parametrize(
    ("space", "high"),
    [
        (spaces.Discrete(2), (1.0,)),
        (spaces.MultiDiscrete([2, 5]), (1.0, 4.0)),
        (spaces.MultiBinary(3), (1.0, 1.0, 1.0)),
    ],
)
def test_choices_are_integers_from_zero(space, high):
    spec = action_spec(space, "toy/walk")
    assert (spec.dim, spec.discrete, spec.low, spec.high) == (len(high), True, (0.0,) * len(high), high)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3, start=1),
        spaces.MultiDiscrete([2, 2], start=[0, 1]),
        spaces.MultiDiscrete([[2, 2], [2, 2]]),
        spaces.MultiBinary((2, 2)),
        spaces.Box(-1, 1, (2, 2)),
        spaces.Box(0, 9, (2,), np.int64),
        spaces.Box(-np.inf, np.inf, (2,)),
        spaces.Dict(),
    ],
)
def test_other_actions_are_refused_with_the_remedy(space):
    with pytest.raises(TaskError, match=r"toy/walk: actions of .* are not supported; use .* env\.factory"):
        action_spec(space, "toy/walk")


def test_a_box_action_is_clipped_and_a_discrete_one_left():
    np.testing.assert_array_equal(applied_action(np.array([-3.0, 0.5]), spaces.Box(-1, 1, (2,))), [-1.0, 0.5])
    assert applied_action(1, spaces.Discrete(2)) == 1


@pytest.mark.parametrize(
    "space",
    [spaces.Discrete(3), spaces.MultiDiscrete([2, 5]), spaces.MultiBinary(3), spaces.Box(-1, 2, (2,))],
)
def test_random_actions_are_in_the_space_and_follow_their_generator(space):
    def draw(seed):
        rng = np.random.default_rng(seed)
        return [random_action(space, rng) for _ in range(20)]

    actions = draw(1)
    assert all(space.contains(action) for action in actions)
    np.testing.assert_array_equal(actions, draw(1))
    assert len({np.asarray(action).tobytes() for action in actions}) > 1
    array = action_array(actions, space)
    assert array.shape == (20, action_spec(space, "toy/walk").dim)
    assert array.dtype == (np.float64 if isinstance(space, spaces.Box) else np.int64)


def test_a_flat_box_is_left_as_it_is():
    env = Observes(spaces.Box(-1, 1, (3,)))
    assert flat_observations(env, "toy/walk") is env


@pytest.mark.parametrize(
    ("space", "n"),
    [
        (spaces.Discrete(4), 4),
        (spaces.MultiDiscrete([2, 3]), 5),
        (spaces.Box(-1, 1, (2, 3)), 6),
        (spaces.Tuple([spaces.Discrete(2), spaces.Box(-1, 1, (3,))]), 5),
        (spaces.Dict(far=spaces.Dict(deep=spaces.Box(-1, 1, (2,))), near=spaces.MultiBinary(2)), 4),
    ],
)
def test_other_observations_become_one_vector(space, n):
    env = flat_observations(Observes(space), "toy/walk")
    obs, _ = env.reset(seed=0)
    assert obs.shape == env.observation_space.shape == (n,)


@pytest.mark.parametrize(
    ("space", "reason"),
    [
        (spaces.Box(0, 255, (84, 84, 3), np.uint8), "look like pictures"),
        (spaces.Dict(eye=spaces.Box(0, 255, (8, 8), np.uint8)), "look like pictures"),
        (spaces.Box(0, 1, (90, 90)), "an observation of 8100 values is not supported: at most 4096"),
        (spaces.Text(5), "they are no numbers"),
        (spaces.Tuple([spaces.Sequence(spaces.Discrete(2))]), "their number is not fixed"),
    ],
)
def test_pictures_text_and_sequences_are_refused_with_the_remedy(space, reason):
    with pytest.raises(TaskError, match=rf"toy/walk: .*{reason}.*; write a function that wraps"):
        flat_observations(Observes(space), "toy/walk")
