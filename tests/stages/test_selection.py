"""Who trains, who goes on, which policy stands for a training."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewardsmith.config import GateConfig, SelectConfig, TrainConfig
from rewardsmith.stages.selection import (
    choose_for_training,
    correlation,
    score,
    standing_checkpoint,
    summary,
    survivors,
)

UNLIKE = [np.array(row, dtype=float) for row in np.eye(6)]
"""Rewards that hardly correlate."""


def choose(preference, rewards=UNLIKE, *, keep=10, max_correlation=0.9, **gate):
    train = TrainConfig(keep=keep, max_correlation=max_correlation)
    return choose_for_training(preference, rewards[: len(preference)], GateConfig(**gate), train)


def checkpoint(step, fitness, progress=(None,), own_return=None):
    return {"step": step, "fitness": list(fitness), "progress": list(progress), "own_return": own_return}


def test_who_is_below_the_threshold_does_not_train():
    assert choose([0.59, 0.6, 0.61], threshold=0.6) == [2, 1]


def test_the_best_train_first_and_of_equals_the_earlier():
    assert choose([0.7, 0.9, 0.7, 0.9], keep=3) == [1, 3, 0]


def test_the_undetermined_train_or_are_skipped_as_the_policy_says():
    assert choose([None, None], when_undetermined="train", keep=1) == [0]
    assert choose([None, None], when_undetermined="skip") == []
    assert choose([None, 0.7], when_undetermined="train") == [1, 0]


def test_of_two_alike_only_the_better_trains():
    reward = np.arange(6.0)
    rewards = [reward, 2.0 * reward + 1.0, np.array([1.0, 0, 1, 0, 1, 0])]
    assert choose([0.7, 0.8, 0.65], rewards) == [1, 2]
    assert choose([0.7, 0.8, 0.65], rewards, max_correlation=1.0) == [1, 0, 2]


def test_an_opposite_is_alike_too():
    assert choose([0.7, 0.8], [np.arange(6.0), -np.arange(6.0)]) == [1]


def test_correlation_is_pearsons():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])


@pytest.mark.parametrize("n", [3, 100, 256])
def test_a_constant_correlates_with_nothing(n):
    constant = np.full(n, 0.1)
    assert correlation(constant, constant) == 0.0
    assert correlation(np.arange(float(n)), constant) == 0.0


def test_a_policy_is_ranked_by_mean_fitness_then_mean_progress():
    assert score(checkpoint(1, [0.0, 1.0], [0.2, 0.4])) == (0.5, pytest.approx(0.3))
    assert score(checkpoint(1, [0.0, 1.0])) == (0.5, 0.0)


@pytest.mark.parametrize("fitness", [[], [None], [1.0, math.nan]])
def test_a_policy_without_a_fitness_is_no_choice(fitness):
    with pytest.raises(ValueError, match="the checkpoint at step 7 has no fitness"):
        score(checkpoint(7, fitness))


def test_the_fittest_policy_stands_for_a_training_and_of_equals_the_earlier():
    checkpoints = [checkpoint(1, [0.5]), checkpoint(2, [0.9]), checkpoint(3, [0.9]), checkpoint(4, [0.1])]
    assert standing_checkpoint(checkpoints, SelectConfig(checkpoint="best"))["step"] == 2


def test_progress_decides_between_policies_of_equal_fitness():
    checkpoints = [checkpoint(1, [0.0], [0.1]), checkpoint(2, [0.0], [0.6])]
    assert standing_checkpoint(checkpoints, SelectConfig(checkpoint="best"))["step"] == 2


def test_the_last_policy_may_stand_for_a_training():
    checkpoints = [checkpoint(1, [0.9]), checkpoint(2, [0.1])]
    assert standing_checkpoint(checkpoints, SelectConfig(checkpoint="last"))["step"] == 2


def test_the_policy_of_the_highest_own_return_may_stand_for_a_training():
    returns = [None, 5.0, 7.0, 7.0, -1.0]
    checkpoints = [checkpoint(i, [0.0], own_return=value) for i, value in enumerate(returns)]
    assert standing_checkpoint(checkpoints, SelectConfig(checkpoint="own_return"))["step"] == 2
    assert standing_checkpoint(checkpoints[:1], SelectConfig(checkpoint="own_return"))["step"] == 0


def test_the_better_share_goes_on_in_the_order_given():
    scores = {"a": (0.1, 0.0), "b": (0.9, 0.0), "c": (0.5, 0.0), "d": (0.5, 0.3)}
    assert survivors(scores, 0.5) == ["b", "d"]
    assert survivors(scores, 0.51) == ["b", "c", "d"]
    assert survivors(scores, 1.0) == list(scores)


def test_of_equals_the_earlier_goes_on():
    assert survivors({"a": (0.0, 0.0), "b": (0.0, 0.0)}, 0.5) == ["a"]


@given(st.integers(1, 60), st.integers(1, 100))
@example(25, 28).via("0.28 * 25 is a little more than 7")
def test_at_least_one_goes_on_and_never_more_than_the_share(n, percent):
    kept = survivors({str(i): (float(i), 0.0) for i in range(n)}, percent / 100)
    assert len(kept) == max(1, math.ceil(Fraction(percent, 100) * n))


def test_a_summary_leaves_out_what_is_not_known():
    judged = checkpoint(1, [1.0, 2.0], [None, None]) | {
        "success": [True, False],
        "success_last": [None, True],
        "length": [3, 5],
    }
    assert summary(judged) == {
        "fitness": 1.5,
        "progress": None,
        "success": 0.5,
        "success_last": 1.0,
        "length": 4.0,
    }
