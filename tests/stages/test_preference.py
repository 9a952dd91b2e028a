"""Trajectory preference against a plain double loop, and at its edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardsmith.stages import preference
from rewardsmith.stages.preference import preference_accuracy, preference_pairs


def accuracy_by_hand(returns, fitness, progress, min_gap):
    points, n_pairs = 0.0, 0
    for i in range(len(returns)):
        for j in range(len(returns)):
            better = fitness[i] > fitness[j]
            if fitness[i] == fitness[j] and progress is not None:
                gap = progress[i] - progress[j]
                better = gap > 0 and gap >= min_gap
            if better:
                n_pairs += 1
                points += 1.0 if returns[i] > returns[j] else 0.5 if returns[i] == returns[j] else 0.0
    return points / n_pairs if n_pairs else None


def accuracy(returns, fitness, progress=None, min_gap=0.0):
    pairs = preference_pairs(np.array(fitness), None if progress is None else np.array(progress), min_gap)
    found = preference_accuracy(np.atleast_2d(np.array(returns, dtype=float)), pairs)
    return None if found is None else found.tolist()


episodes = st.lists(
    st.tuples(st.integers(-5, 5), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    min_size=1,
    max_size=12,
)


@given(episodes, st.booleans(), st.sampled_from([0.0, 0.3]))
def test_the_score_is_that_of_a_plain_double_loop(episodes, has_progress, min_gap):
    returns, fitness, progress = zip(*episodes, strict=True)
    progress = progress if has_progress else None
    expected = accuracy_by_hand(returns, fitness, progress, min_gap)
    found = accuracy(returns, fitness, progress, min_gap)
    assert found == (None if expected is None else [pytest.approx(expected)])


def test_higher_fitness_is_better_whatever_the_progress():
    assert accuracy([2, 1], fitness=[1.0, 0.0], progress=[0.0, 1.0]) == [1.0]
    assert accuracy([1, 2], fitness=[1.0, 0.0], progress=[0.0, 1.0]) == [0.0]


def test_progress_decides_between_equals():
    assert accuracy([2, 1], fitness=[0.0, 0.0], progress=[0.9, 0.1]) == [1.0]


def test_equal_returns_count_one_half():
    assert accuracy([3, 3], fitness=[1.0, 0.0]) == [0.5]


def test_returns_that_differ_in_their_last_bits_are_equal():
    assert accuracy([0.1 + 0.2, 0.3], fitness=[1.0, 0.0]) == [0.5]
    assert accuracy([0.3, 0.1 + 0.2], fitness=[1.0, 0.0]) == [0.5]


def test_small_returns_are_told_apart_by_their_own_scale():
    assert accuracy([2e-8, 1e-8], fitness=[1.0, 0.0]) == [1.0]


def test_equals_alone_leave_it_undetermined():
    assert accuracy([1, 2], fitness=[0.0, 0.0]) is None
    assert accuracy([1, 2], fitness=[0.0, 0.0], progress=[0.5, 0.5]) is None
    assert accuracy([1], fitness=[1.0]) is None


def test_a_small_gap_in_progress_is_no_preference():
    assert accuracy([1, 2], fitness=[0.0, 0.0], progress=[0.500, 0.505], min_gap=0.01) is None
    assert accuracy([1, 2], fitness=[0.0, 0.0], progress=[0.50, 0.52], min_gap=0.01) == [1.0]


def test_the_gap_does_not_matter_where_fitness_differs():
    assert accuracy([1, 2], fitness=[0.0, 0.001], progress=[0.5, 0.5], min_gap=0.5) == [1.0]


def test_many_candidates_get_the_scores_that_each_gets_alone():
    rng = np.random.default_rng(0)
    returns, fitness = rng.normal(size=(150, 20)), rng.normal(size=20)
    together = accuracy(returns, fitness)
    assert together == [accuracy(row, fitness)[0] for row in returns]
    assert len(set(together)) > 10


def test_too_many_pairs_are_thinned_evenly_and_always_alike(monkeypatch):
    fitness = np.arange(30.0)
    everything = preference_pairs(fitness, None, 0.0)
    assert len(everything) == 30 * 29 // 2
    monkeypatch.setattr(preference, "MAX_PAIRS", 40)
    few, again = preference_pairs(fitness, None, 0.0), preference_pairs(fitness, None, 0.0)
    kept = list(zip(few.better.tolist(), few.worse.tolist(), strict=True))
    assert len(kept) == len(set(kept)) == 40
    assert {few.better.min(), few.better.max()} == {1, 29}
    assert np.diff(np.unique(few.better)).max() <= 4
    np.testing.assert_array_equal(few.better, again.better)
    np.testing.assert_array_equal(few.worse, again.worse)
    assert (fitness[few.better] > fitness[few.worse]).all()
