"""EPIC: what makes two rewards the same must not show, what makes them differ must."""

import numpy as np
import pytest

from rewardsmith.contract.shaping import shaping_reward
from rewardsmith.stages.distance import canonical, distances, epic_sample
from rewardsmith.stages.store import TrajectoryStore
from stages.made_up import trajectory

GAMMA = 0.9
STORE = TrajectoryStore().grown(
    [trajectory(0.0, 0.1, length=30, first=float(i)) for i in range(12)], "made up"
)
SAMPLE = epic_sample(STORE, 7, GAMMA)


def reach(batch):
    return np.tanh(0.1 * batch.next_state[:, 0])


def effort(batch):
    return -np.sum(np.square(batch.action), axis=-1) + 0.3 * np.cos(batch.next_state[:, -1])


def scaled(batch):
    return 5.0 * reach(batch) + 3.0


def shaped(batch):
    phi = [np.sin(states[:, 0]) * 4.0 for states in (batch.state, batch.next_state)]
    return reach(batch) + shaping_reward(phi[0], phi[1], np.zeros(len(batch), dtype=bool), GAMMA)


def opposite(batch):
    return -reach(batch)


def constant(batch):
    return np.full(len(batch), 2.0)


def distance(a, b):
    return distances([canonical(a, SAMPLE), canonical(b, SAMPLE)])[0, 1]


@pytest.mark.parametrize("same", [reach, scaled, shaped])
def test_scale_offset_and_shaping_do_not_count(same):
    assert distance(reach, same) == pytest.approx(0.0, abs=1e-6)


def test_plain_correlation_would_tell_a_shaped_reward_from_its_original():
    rho = np.corrcoef(reach(SAMPLE.rows), shaped(SAMPLE.rows))[0, 1]
    assert rho < 0.9


def test_opposites_are_as_far_apart_as_can_be():
    assert distance(reach, opposite) == pytest.approx(1.0)


def test_other_rewards_lie_between():
    assert 0.1 < distance(reach, effort) < 1.0
    assert distance(reach, constant) == pytest.approx(np.sqrt(0.5))


def test_the_matrix_is_symmetric_with_nothing_on_its_diagonal():
    table = distances([canonical(reward, SAMPLE) for reward in (reach, effort, opposite)])
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 0.0)
