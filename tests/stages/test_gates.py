"""The rules that let candidates train, against what CARD's paper and code say, and at their edges."""

from dataclasses import replace

import numpy as np
import pytest

from rewardsmith.config import GateConfig
from rewardsmith.stages.gates import in_words, needed, rate, trajectory_returns
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import Trajectory

PAIRWISE, SUCCESS, PAPER, CODE, NONE = (
    GateConfig(rule=rule, min_pairs=1) for rule in ("pairwise", "success", "card_paper", "card_code", "none")
)


def episode(length, success, fitness=None):
    return Trajectory(
        state=np.zeros((length + 1, 1)),
        action=np.zeros((length, 1)),
        terminated=False,
        fitness=float(success) if fitness is None else fitness,
        progress=None,
        success=success,
        success_last=success,
        origin="random",
    )


def store_of(*episodes):
    return TrajectoryStore().grown(episodes, "ref")


THREE_AND_TWO = store_of(*(episode(2, success) for success in (True, True, True, False, False)))


def scores(gate, *returns, store=THREE_AND_TWO):
    found = rate([np.array(r, dtype=float) for r in returns], store, gate).scores
    return None if found is None else found.tolist()


def test_the_rule_of_the_paper_asks_every_success_to_stand_above_every_failure():
    assert scores(PAPER, [5, 4, 3, 2, 1], [5, 4, 2, 2, 1], [5, 4, 1, 2, 0]) == [1.0, 0.0, 0.0]
    assert needed(PAPER) == 1.0


def test_the_rule_of_the_code_is_the_share_of_successes_above_the_best_failure():
    assert scores(CODE, [5, 4, 3, 2, 1], [5, 4, 2, 2, 1], [1, 1, 1, 2, 0]) == [1.0, pytest.approx(2 / 3), 0.0]
    assert needed(CODE) == 0.8


@pytest.mark.parametrize("gate", [PAPER, CODE])
@pytest.mark.parametrize("success", [True, False, None])
def test_a_store_with_one_side_only_is_undetermined_and_never_a_pass(gate, success):
    assert (
        scores(gate, [1.0, 2.0], store=store_of(episode(2, success, 0.0), episode(2, success, 0.0))) is None
    )


def test_our_rule_reads_fitness_where_nothing_is_a_success():
    graded = store_of(episode(2, False, 0.2), episode(2, False, 0.8))
    assert scores(PAIRWISE, [1, 2], [2, 1], store=graded) == [1.0, 0.0]
    assert needed(PAIRWISE) == GateConfig().threshold


def test_success_alone_is_compared_where_the_rule_says_so():
    # The third success is below one of the two failures.
    assert scores(SUCCESS, [5, 4, 2, 3, 1]) == [pytest.approx(5 / 6)]
    graded = store_of(episode(2, False, 0.2), episode(2, False, 0.8))
    assert scores(SUCCESS, [1, 2], store=graded) is None
    assert needed(SUCCESS) == GateConfig().threshold


def test_too_few_pairs_determine_nothing():
    few = GateConfig(min_pairs=6), GateConfig(min_pairs=7), GateConfig(rule="success", min_pairs=7)
    assert [scores(gate, [5, 4, 3, 2, 1]) for gate in few] == [[1.0], None, None]


def test_without_a_rule_nothing_is_ranked_and_all_pass():
    assert scores(NONE, [0, 0, 0, 5, 5]) is None
    assert needed(NONE) == 0.0
    assert in_words(NONE) is None


def test_each_rule_compares_the_return_that_it_is_about():
    store = store_of(episode(3, True), episode(2, False))
    reward = np.array([1.0, 2.0, 4.0, 10.0, 20.0])
    sums, discounted, means = (
        trajectory_returns(store, reward, gate, 0.5) for gate in (PAIRWISE, PAPER, CODE)
    )
    assert sums.tolist() == [7.0, 30.0]
    assert discounted.tolist() == [1.0 + 1.0 + 1.0, 10.0 + 10.0]
    assert means.tolist() == [pytest.approx(7 / 3), 15.0]


def test_what_a_rule_asks_is_said_with_its_number():
    assert "at least 0.7 of all pairs" in in_words(replace_threshold(0.7))
    assert "at least 0.8 of the successes" in in_words(CODE)
    assert "every success" in in_words(PAPER)


def replace_threshold(threshold):
    return PAIRWISE.model_copy(update={"threshold": threshold})


def test_nothing_to_score_is_no_error():
    assert rate([], THREE_AND_TWO, PAPER).scores is None
    assert rate([], THREE_AND_TWO, PAIRWISE).scores is None


def test_episodes_without_a_verdict_take_no_part():
    store = replace(THREE_AND_TWO, trajectories=(*THREE_AND_TWO.trajectories, episode(2, None, 0.0)))
    for gate in (PAPER, CODE, SUCCESS):
        assert scores(gate, [5, 4, 3, 2, 1, 99], store=store) == [1.0]
