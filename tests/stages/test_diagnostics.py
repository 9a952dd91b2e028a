"""Diagnostics of rewards, each on made-up numbers whose answer is known."""

import numpy as np
import pytest

from rewardsmith.contract.layout import StateField, StateLayout
from rewardsmith.stages.diagnostics import (
    component_remarks,
    goodhart_step,
    rank_correlation,
    saturation,
    shares,
    stretched,
)
from rewardsmith.types import RewardAnswer
from stages.made_up import transitions

FREE = StateLayout((StateField(name="place", shape=(3,)),))


def checkpoint(step, fitness, *, own=0.0, returns=None, progress=None):
    return {
        "step": step,
        "fitness": fitness,
        "progress": progress or [None] * len(fitness),
        "return": returns,
        "own_return": own,
    }


def answer(**components):
    parts = {name: np.asarray(values, dtype=float) for name, values in components.items()}
    return RewardAnswer(reward=np.sum([*parts.values()], axis=0), components=parts, cpu_s=0.0)


def test_returns_that_order_episodes_as_fitness_does_have_correlation_one():
    rows = [checkpoint(1, [0.1, 0.5], returns=[3.0, 9.0]), checkpoint(2, [0.9], returns=[10.0])]
    assert rank_correlation(rows) == pytest.approx(1.0)
    rows[1]["return"] = [-5.0]
    assert rank_correlation(rows) == pytest.approx(-0.5)


def test_between_equal_fitness_progress_decides():
    rows = [checkpoint(1, [0.0, 0.0, 1.0], returns=[1.0, 2.0, 3.0], progress=[0.2, 0.6, 0.1])]
    assert rank_correlation(rows) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [checkpoint(1, [0.0, 1.0], returns=None)],
        [checkpoint(1, [0.0, 0.0], returns=[1.0, 2.0])],
        [checkpoint(1, [0.0, 1.0], returns=[2.0, 2.0])],
    ],
)
def test_what_never_changes_has_no_rank(rows):
    assert rank_correlation(rows) is None


def test_the_goodhart_point_is_where_the_return_rises_on_and_fitness_falls():
    rows = [
        checkpoint(100, [0.2, 0.3, 0.2], own=1.0),
        checkpoint(200, [0.9, 0.8, 0.9], own=2.0),
        checkpoint(300, [0.1, 0.0, 0.1], own=5.0),
    ]
    assert goodhart_step(rows) == 200


@pytest.mark.parametrize(
    ("last", "own"),
    [
        # The return fell as well: that is forgetting, not hacking.
        ([0.1, 0.0, 0.1], 1.5),
        # A fall within the noise of the episodes.
        ([0.0, 1.0, 1.0], 5.0),
        # No fall.
        ([0.9, 0.9, 0.9], 5.0),
        # Nothing is known of the return.
        ([0.1, 0.0, 0.1], None),
    ],
)
def test_there_is_no_goodhart_point_where_either_half_is_missing(last, own):
    rows = [checkpoint(200, [0.9, 0.8, 0.9], own=2.0), checkpoint(300, last, own=own)]
    assert goodhart_step(rows) is None
    assert goodhart_step([]) is None


def test_shares_add_up_to_one():
    found = shares(answer(big=[0.0, 10.0, 20.0, 30.0], small=[0.0, 1.0, 0.0, 1.0]))
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["big"] > 0.9
    assert shares(answer(flat=[1.0, 1.0])) == {}


def test_components_get_the_remarks_that_they_deserve():
    steps = np.arange(100.0)
    own = answer(main=steps, flat=np.ones(100), late=np.where(steps > 97, 0.5, 0.0), calm=np.sin(steps))
    remarks = component_remarks(own, None)
    assert remarks["main"] == ["dominates the others"]
    assert remarks["flat"] == ["constant in these rollouts"]
    assert remarks["late"] == ["saturated: at one end of its range in 98% of the steps"]
    assert remarks["calm"] == []


def test_a_component_that_grows_with_the_state_is_unbounded_and_one_that_saturates_is_not():
    batch = transitions(64)
    far = stretched(batch, FREE)

    def of(rows):
        x = rows.next_state[:, 0]
        return answer(linear=x, tanh=np.tanh(x / np.abs(batch.next_state[:, 0]).max() * 3.0))

    remarks = component_remarks(of(batch), of(far))
    assert "grows without bound" in remarks["linear"]
    assert "grows without bound" not in remarks["tanh"]


def test_stretching_leaves_the_middle_where_it_is():
    batch = transitions(9)
    np.testing.assert_allclose(
        np.median(stretched(batch, FREE).state, axis=0), np.median(batch.state, axis=0)
    )


def test_saturation_counts_the_fuller_end():
    assert saturation(np.array([0.0, 0.0, 0.0, 1.0])) == 0.75
    assert saturation(np.array([0.0, 1.0, 1.0, 1.0])) == 0.75


def test_stretching_stays_within_the_bounds_that_fields_declare():
    batch = transitions(64)
    low, high = batch.state.min(), 0.5
    layout = StateLayout((StateField(name="a", low=low, high=high), StateField(name="b", shape=(2,))))
    far = stretched(batch, layout).state
    inside = batch.state[:, 0] <= high
    assert far[inside, 0].min() == low
    assert far[inside, 0].max() == high
    np.testing.assert_array_equal(far[~inside, 0], batch.state[~inside, 0])
    assert np.abs(far[:, 1:]).max() > 3.0 * np.abs(batch.state[:, 1:]).max()
