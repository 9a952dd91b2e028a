"""What a coder is told of a candidate, on made-up trajectories whose every number is known."""

import json

import numpy as np
import pytest

from rewardsmith.config import FeedbackConfig, GateConfig
from rewardsmith.stages.evidence import (
    N_SAMPLED,
    Rescored,
    evidence,
    extremes,
    preference_feedback,
    process_feedback,
    rescore,
    rollout_feedback,
)
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import RewardAnswer
from stages.made_up import LAYOUT, trajectory


def store(*episodes):
    return TrajectoryStore(tuple(episodes), ("ref",))


def paid(episodes, **components):
    """Episodes with what each component pays for every transition; the reward is their sum."""
    arrays = {name: np.array(values, dtype=float) for name, values in components.items()}
    reward = np.sum([*arrays.values()], axis=0)
    return Rescored(store=store(*episodes), answer=RewardAnswer(reward=reward, components=arrays, cpu_s=0.0))


THREE = (trajectory(0.0, 0.1, length=2), trajectory(1.0, 0.9, length=3), trajectory(0.0, 0.5, length=1))
"""Of 2, 3 and 1 steps; the second is the best, the third better than the first."""


def window(mean, low, high, name="a"):
    part = {"mean": mean, "std": 0.5, "min": low, "max": high}
    return {"reward": part, "components": {name: part}}


def checkpoint(step=10, statistics=(), **changes):
    return {
        "step": step,
        "return": [1.0, 2.0],
        "fitness": [0.0, 1.0],
        "progress": [0.2, 0.4],
        "success": [True, False],
        "success_last": [False, False],
        "length": [3, 5],
        "own_return": 1.5,
        "statistics": list(statistics),
        **changes,
    }


def component(own=None, *windows):
    (found,) = process_feedback([checkpoint(statistics=windows)], own)["components"]
    return found


def test_the_shares_of_all_components_add_up_to_one():
    rng = np.random.default_rng(0)
    names = ("a", "b", "c")
    own = paid([trajectory(length=50)], **{name: rng.normal(size=50) + 5.0 for name in names})
    windows = [window(0.0, 0.0, 1.0, name) for name in names]
    found = process_feedback([checkpoint(statistics=windows)], own)["components"]
    assert sum(row["share"] for row in found) == pytest.approx(1.0)
    assert all(0.1 < row["share"] < 0.6 for row in found)


def test_a_share_is_what_a_component_brings_of_the_variance():
    ramp = np.arange(10.0)
    own = paid([trajectory(length=10)], a=3.0 * ramp, b=ramp, still=np.ones(10))
    windows = [window(0.0, 0.0, 1.0, name) for name in ("a", "b", "still")]
    found = process_feedback([checkpoint(statistics=windows)], own)["components"]
    assert [row["share"] for row in found] == pytest.approx([0.75, 0.25, 0.0])


def test_there_is_no_share_of_a_reward_that_never_changes_nor_without_rollouts():
    flat = paid([trajectory(length=3)], a=[1.0, 1.0, 1.0])
    assert component(flat, window(1.0, 0.0, 2.0))["share"] is None
    assert component(None, window(1.0, 0.0, 2.0))["share"] is None


def test_a_component_is_told_window_by_window_with_its_extremes():
    found = component(None, window(0.1, -1.0, 1.0), window(0.2, -3.0, 0.5))
    assert (found["means"], found["min"], found["max"], found["remark"]) == ([0.1, 0.2], -3.0, 1.0, "")


def test_a_component_that_never_changes_is_remarked_on():
    assert component(None, window(2.0, 2.0, 2.0), window(2.0, 2.0, 2.0))["remark"] == "never changes"
    assert component(None, window(2.0, 2.0, 2.0), window(3.0, 3.0, 3.0))["remark"] == ""


def test_checkpoints_are_told_with_their_means():
    found = process_feedback([checkpoint(10), checkpoint(20, success=[None, None], **{"return": None})], None)
    assert found["episodes"] == 2
    known = {"fitness": 0.5, "progress": pytest.approx(0.3), "length": 4}
    assert found["checkpoints"] == [
        {"step": 10, "return": 1.5, "success": 0.5, **known},
        {"step": 20, "return": None, "success": None, **known},
    ]


def test_a_reward_without_components_has_none_to_tell_of():
    bare = {"reward": {}, "components": {}}
    assert process_feedback([checkpoint(statistics=[bare, {}])], None)["components"] == []


def test_extremes_are_the_episodes_of_highest_and_lowest_return():
    own = paid(THREE, a=[1, 1, 0, 0, 0.5, 3])
    np.testing.assert_allclose(own.returns, [2, 0.5, 3])
    assert extremes(own) == (2, 1)


def test_rollouts_are_the_extremes_with_what_was_measured():
    best, worst = rollout_feedback(paid(THREE, a=[1, 1, 0, 0, 0.5, 3]), LAYOUT)
    assert (best["title"], best["return"], best["length"]) == ("Highest return", 3.0, 1)
    assert best["measured"] == "fitness 0, progress 0.5"
    assert (worst["title"], worst["return"], worst["length"]) == ("Lowest return", 0.5, 3)
    assert worst["measured"] == "fitness 1, progress 0.9"


def test_equal_returns_give_one_rollout():
    (only,) = rollout_feedback(paid(THREE, a=[0, 0, 0, 0, 0, 0]), LAYOUT)
    assert only["title"] == "Highest return"


@pytest.mark.parametrize("length", [1, 2, 5, 6, 7, 50, 1000])
def test_the_steps_that_are_shown_include_the_first_and_the_last(length):
    (rollout,) = rollout_feedback(paid([trajectory(length=length)], a=np.zeros(length)), LAYOUT)
    steps = [row["step"] for row in rollout["rows"]]
    assert (steps[0], steps[-1], len(steps)) == (1, length, min(length, N_SAMPLED))
    assert steps == sorted(set(steps))


def test_a_shown_step_has_the_state_after_it_and_what_it_was_paid():
    own = paid([trajectory(length=1), trajectory(length=2, first=100.0)], a=[5, 1, 2], b=[0, 10, 20])
    best, _ = rollout_feedback(own, LAYOUT)
    assert [(row["step"], row["state"], row["components"]) for row in best["rows"]] == [
        (1, "pos [103, 104], speed 105", "a 1, b 10"),
        (2, "pos [106, 107], speed 108", "a 2, b 20"),
    ]


def test_a_success_is_told_where_the_task_has_one():
    for success, told in ((True, "fitness 1, a success"), (False, "fitness 1, no success")):
        (rollout,) = rollout_feedback(paid([trajectory(1.0, success=success)], a=[0, 0, 0]), LAYOUT)
        assert rollout["measured"] == told


def test_the_pair_that_is_told_is_the_one_of_the_worst_order():
    # Returns 2, 1, 4: the best episode is paid 1 less than the first and 3 less than the third.
    found = preference_feedback(
        paid(THREE, a=[1, 1, 0.5, 0.25, 0.25, 3], b=[0, 0, 0, 0, 0, 1]), GateConfig(min_gap=0.01)
    )
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert (found["pairs"], found["trajectories"]) == (3, 3)
    better, worse = found["worst"]
    assert (better["which"], better["return"], better["length"]) == ("better", 1.0, 3)
    assert (worse["which"], worse["return"], worse["length"]) == ("worse", 4.0, 1)
    assert (better["measured"], worse["measured"]) == ("fitness 1, progress 0.9", "fitness 0, progress 0.5")
    assert (better["components"], worse["components"]) == ("a 1, b 0", "a 3, b 1")


def test_component_sums_are_those_of_one_episode():
    found = paid(THREE, a=[1, 2, 4, 8, 16, 32], b=[0, 1, 0, 1, 0, 1])
    assert [found.component_returns(i) for i in range(3)] == [
        {"a": 3.0, "b": 1.0},
        {"a": 28.0, "b": 1.0},
        {"a": 32.0, "b": 1.0},
    ]


def test_a_right_order_has_no_worst_pair():
    found = preference_feedback(paid(THREE, a=[0, 0, 5, 5, 5, 1]), GateConfig(min_gap=0.01))
    assert (found["accuracy"], found["worst"]) == (1.0, [])


def test_a_tie_but_for_the_last_bits_is_no_wrong_order():
    found = preference_feedback(
        paid(THREE[:2], a=[0.3, 0.3, 0.2, 0.2, 0.2 - 1e-14]), GateConfig(min_gap=0.01)
    )
    assert (found["accuracy"], found["worst"]) == (0.5, [])


def test_there_is_no_preference_where_no_two_episodes_differ():
    same = [trajectory(0.5, 0.5), trajectory(0.5, 0.5)]
    assert preference_feedback(paid(same, a=[0] * 6), GateConfig(min_gap=0.01)) is None


def test_a_box_is_asked_about_every_transition():
    class Box:
        def call(self, batch):
            return RewardAnswer(reward=batch.next_state[:, 2], components={}, cpu_s=0.0)

    found = rescore(Box(), store(trajectory(length=2), trajectory(length=1, first=10.0)))
    np.testing.assert_allclose(found.returns, [5 + 8, 15])


PARTS = {"process": {"episodes": 1}, "rollouts": [{"title": "Highest return"}], "preference": {"pairs": 1}}


@pytest.mark.parametrize(
    ("switch", "part"), [("process", "process"), ("trajectory", "rollouts"), ("preference", "preference")]
)
def test_a_switch_takes_its_part_away_and_no_other(switch, part):
    found = evidence(feedback=FeedbackConfig(**{switch: False}), **PARTS)
    assert not found[part]
    assert [name for name in PARTS if not found[name]] == [part]


def test_all_parts_are_there_by_default_and_a_failure_is_told():
    found = evidence(feedback=FeedbackConfig(), **PARTS, failure="slow: 200 ms")
    assert found == {**PARTS, "failure": "slow: 200 ms"}


def test_evidence_survives_the_journal():
    own = paid(THREE, a=[1, 3, 0.5, 0.25, 0.25, 2])
    found = evidence(
        feedback=FeedbackConfig(),
        process=process_feedback([checkpoint(statistics=[window(0.1, 0.0, 1.0)])], own),
        rollouts=rollout_feedback(own, LAYOUT),
        preference=preference_feedback(own, GateConfig(min_gap=0.01)),
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == found
