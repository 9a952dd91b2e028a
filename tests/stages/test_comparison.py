"""The statistics of the final comparison."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardsmith.stages.comparison import Interval, human_normalised, interquartile_mean, mean_difference


def test_the_outer_quarters_are_left_out():
    assert interquartile_mean([-100.0, 1.0, 2.0, 100.0]).iqm == 1.5
    assert interquartile_mean([-100, 0, 1, 2, 3, 4, 5, 100]).iqm == 2.5


def test_fewer_than_four_seeds_count_all():
    assert interquartile_mean([0.0, 3.0, 6.0]).iqm == 3.0


def test_one_seed_has_no_interval():
    found = interquartile_mean([0.7])
    assert (found.iqm, found.low, found.high, found.n) == (0.7, None, None, 1)


def test_equal_seeds_have_an_interval_of_no_width():
    found = interquartile_mean([0.5, 0.5, 0.5])
    assert (found.iqm, found.low, found.high, found.n) == (0.5, 0.5, 0.5, 3)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8))
def test_an_interval_lies_within_the_values(values):
    found = interquartile_mean(values)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found.n == len(values)


def test_an_interval_is_the_same_each_time_and_narrows_with_seeds():
    rng = np.random.default_rng(0)
    few, many = interquartile_mean(rng.normal(size=5)), interquartile_mean(rng.normal(size=60))
    assert many.high - many.low < few.high - few.low
    values = rng.normal(size=5)
    assert interquartile_mean(values) == interquartile_mean(values)


def test_sparse_is_zero_and_human_is_one():
    human, sparse = [9.0, 10.0, 11.0], [0.0, 1.0, 2.0]
    assert human_normalised(sparse, human, sparse) == 0.0
    assert human_normalised(human, human, sparse) == pytest.approx(1.0)
    assert human_normalised([19.0], human, sparse) == pytest.approx(2.0)


def test_there_is_no_score_where_the_human_reward_is_the_worse():
    assert human_normalised([2.0], human=[0.0, 0.1], sparse=[1.0, 1.1]) is None


@pytest.mark.parametrize(
    ("human", "sparse"),
    [
        ([1.0, 1.0], [1.0, 1.0]),
        ([0.0, 2.0], [0.0, 1.0]),
        ([1.0], [0.0]),
        ([1.0, 1.0], [0.0]),
    ],
)
def test_there_is_no_score_where_human_and_sparse_cannot_be_told_apart(human, sparse):
    assert human_normalised([5.0], human, sparse) is None


def test_two_standard_errors_are_the_border():
    sparse = [0.0, 0.0]
    spread = np.array([-1.0, 1.0])  # a standard error of 1
    assert human_normalised([1.0], (1.9 + spread).tolist(), sparse) is None
    assert human_normalised([1.0], (2.1 + spread).tolist(), sparse) == pytest.approx(1 / 2.1)


def test_a_difference_is_averaged_over_tasks_in_units_of_their_spans():
    found = mean_difference([[1.0, 1.0], [30.0, 30.0]], [[0.5, 0.5], [10.0, 10.0]], [1.0, 40.0])
    assert found == Interval(iqm=0.5, low=0.5, high=0.5, n=2)


def test_the_interval_of_a_difference_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(60):
        a, b = rng.normal(1.0, 0.3, size=(2, 8)), rng.normal(0.6, 0.3, size=(2, 8))
        found = mean_difference(a, b, [1.0, 1.0])
        covered += found.low <= 0.4 <= found.high
    assert covered >= 50


def test_one_seed_says_nothing_of_a_difference():
    assert mean_difference([[1.0]], [[0.5, 0.4]], [1.0]) is None
    assert mean_difference([], [], []) is None
