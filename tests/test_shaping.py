"""Potential-based shaping leaves the best policies as they are: shown on a small tabular MDP."""

import numpy as np
import pytest

from rewardsmith.contract.shaping import shaping_reward

N_STATES, N_ACTIONS, GOAL, GAMMA = 6, 2, 5, 0.9
"""A corridor: action 1 goes right, action 0 left or, in the leftmost state, back into it; the goal ends."""


def step(state, action):
    after = min(state + 1, GOAL) if action else max(state - 1, 0)
    return after, float(after == GOAL), after == GOAL


def optimal_values(phi, *, zero_at_the_end=True, n_sweeps=400):
    """Return Q(s, a) of the sparse reward with the shaping term of `phi`, by value iteration."""
    q = np.zeros((N_STATES, N_ACTIONS))
    for _ in range(n_sweeps):
        for state in range(GOAL):
            for action in range(N_ACTIONS):
                after, sparse, terminated = step(state, action)
                is_end = np.array([terminated and zero_at_the_end])
                term = shaping_reward(phi[[state]], phi[[after]], is_end, GAMMA)[0]
                goes_on = 0.0 if terminated else GAMMA * q[after].max()
                q[state, action] = sparse + term + goes_on
    return q[:GOAL]


PLAIN = optimal_values(np.zeros(N_STATES))
POTENTIALS = {
    "helpful": np.arange(N_STATES, dtype=float),
    "misleading": -3.0 * np.arange(N_STATES, dtype=float),
    "high at the goal": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 50.0]),
    "low at the goal": np.array([0.0, 0.0, 9.0, 0.0, 0.0, -50.0]),
    "random": np.random.default_rng(3).normal(size=N_STATES) * 7.0,
}


@pytest.mark.parametrize("name", POTENTIALS)
def test_the_optimal_policy_stays(name):
    phi = POTENTIALS[name]
    shaped = optimal_values(phi)
    np.testing.assert_array_equal(shaped.argmax(axis=1), PLAIN.argmax(axis=1))
    # Ng et al. (1999): Q is shifted by the potential, and by nothing else.
    np.testing.assert_allclose(shaped, PLAIN - phi[:GOAL, None], atol=1e-9)


def test_a_potential_that_is_kept_at_the_end_would_change_the_policy():
    phi = POTENTIALS["low at the goal"]
    wrong = optimal_values(phi, zero_at_the_end=False)
    assert (wrong.argmax(axis=1) != PLAIN.argmax(axis=1)).any()


def test_where_an_episode_is_only_cut_off_the_potential_counts_on():
    phi, after = np.array([1.0, 1.0]), np.array([4.0, 4.0])
    np.testing.assert_allclose(shaping_reward(phi, after, np.array([True, False]), 0.5), [-1.0, 1.0])
