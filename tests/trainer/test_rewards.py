"""What a learner is given as reward, and exactly which transitions it is for."""

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.types import RewardAnswer
from rewardsmith.worker.trainer import rewards
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.rewards import (
    GuardedReward,
    RewardedVecEnv,
    RewardStatistics,
    baseline_source,
)
from rewardsmith.worker.trainer.spaces import action_spec
from rewardsmith.worker.trainer.taskenv import EnvMaker
from toy_tasks import MEASURED
from trainer.walks import CART_POLE, Recording, box, rows


def vectorised(task, source, n_envs=1):
    venv = DummyVecEnv([EnvMaker(task).make] * n_envs)
    return RewardedVecEnv(venv, source, action_spec(venv.action_space, task.name))


def test_the_human_baseline_is_the_environments_own(toy_task):
    answer = baseline_source("human", Measures(toy_task()))(rows(2), np.array([3.0, 4.0]), [False, True])
    np.testing.assert_array_equal(answer.reward, [3.0, 4.0])
    assert answer.components == {}


def test_the_sparse_baseline_is_success_told_or_computed(toy_task):
    told = baseline_source("sparse", Measures(toy_task()))(rows(2), np.zeros(2), [False, True])
    np.testing.assert_array_equal(told.reward, [0.0, 1.0])
    assert told.reward.dtype == np.float64
    computed = baseline_source("sparse", Measures(toy_task(MEASURED)))(rows(2), np.zeros(2), [False, False])
    np.testing.assert_array_equal(computed.reward, [1.0, 0.0])  # clocks 2 and 4


def test_the_zero_baseline_is_nothing(toy_task):
    answer = baseline_source("zero", Measures(toy_task()))(rows(3), np.ones(3), [True] * 3)
    np.testing.assert_array_equal(answer.reward, np.zeros(3))


def test_the_progress_baseline_is_its_increments(toy_task):
    answer = baseline_source("progress", Measures(toy_task(MEASURED)))(rows(3), np.zeros(3), [False] * 3)
    np.testing.assert_allclose(answer.reward, [0.1, 0.1, 0.1])


class Bomb:
    """A box that answers rightly until a number of calls."""

    def __init__(self, after):
        self.after, self.n_calls = after, 0

    def __call__(self, batch):
        self.n_calls += 1
        answer = box(batch)
        if self.n_calls <= self.after:
            return answer
        return RewardAnswer(reward=answer.reward + 0.5, components={}, cpu_s=0.0)


def ask(guarded, n, start=0):
    return [
        guarded(rows(2, first=10.0 * i), np.zeros(2), [False] * 2).reward for i in range(start, start + n)
    ]


def test_a_guard_passes_answers_on(monkeypatch):
    for i, reward in enumerate(ask(GuardedReward(box, seed=0), 200)):
        np.testing.assert_array_equal(reward, box(rows(2, first=10.0 * i)).reward)


def test_a_guard_keeps_a_few_calls_and_asks_all_of_them_again():
    guarded = GuardedReward(bomb := Bomb(after=10**9), seed=0)
    ask(guarded, 400)
    before = bomb.n_calls
    guarded.recheck_all()
    assert bomb.n_calls - before == GuardedReward.N_KEPT
    assert 400 < before < 430, "some six of 400 calls are asked again at once"


def test_a_bomb_that_counts_calls_is_found_during_training():
    guarded = GuardedReward(Bomb(after=100), seed=0)
    with pytest.raises(CandidateError) as caught:
        ask(guarded, 2000)
    assert caught.value.code == FailureCode.DRIFT
    assert "the same transitions got another reward after " in caught.value.message
    assert "(by 0.5)" in caught.value.message


def test_a_late_bomb_is_found_when_all_is_asked_again():
    bomb = Bomb(after=10**9)
    guarded = GuardedReward(bomb, seed=0)
    ask(guarded, 1)
    guarded.recheck_all()
    bomb.after = 0
    with pytest.raises(CandidateError, match="got another reward after 1 calls"):
        guarded.recheck_all()


def test_a_reward_that_differs_from_validation_is_found_before_anything_is_kept():
    reference = [(rows(3), box(rows(3)).reward - 1.0)]
    guarded = GuardedReward(box, seed=0, reference=reference)
    with pytest.raises(CandidateError, match=r"after 0 calls \(by 1\)"):
        guarded.recheck(0)


def test_a_reference_is_asked_again_beside_what_is_kept():
    reference = [(rows(3), box(rows(3)).reward)]
    guarded = GuardedReward(bomb := Bomb(after=10**9), seed=0, reference=reference)
    ask(guarded, 400)
    before = bomb.n_calls
    guarded.recheck_all()
    assert bomb.n_calls - before == 1 + GuardedReward.N_KEPT
    assert len(reference) == 1, "the caller's list is left alone"


def test_a_batch_whose_memory_is_used_again_is_no_drift():
    guarded = GuardedReward(box, seed=0)
    batch = rows(2)
    guarded(batch, np.zeros(2), [False] * 2)
    batch.next_state[:] = -1.0
    guarded.recheck_all()


def test_the_seed_decides_what_is_asked_again():
    counts = []
    for seed in (0, 0, 1):
        ask(GuardedReward(bomb := Bomb(after=10**9), seed=seed), 300)
        counts.append(bomb.n_calls)
    assert counts[0] == counts[1] != counts[2]


def test_some_slow_calls_are_forgiven_and_many_are_not(monkeypatch):
    clock = iter(x for i in range(10**6) for x in (float(i), i + 0.15))
    monkeypatch.setattr(rewards.time, "perf_counter", lambda: next(clock))
    guarded = GuardedReward(box, seed=0)
    ask(guarded, rewards.MAX_SLOW_CALLS)
    with pytest.raises(CandidateError, match="21 calls took more than 100 ms each") as caught:
        ask(guarded, 1)
    assert caught.value.code == FailureCode.SLOW


def test_statistics_are_of_the_steps_since_the_last_cut():
    statistics = RewardStatistics()
    assert statistics.cut() == {}
    for values in ([1.0, 3.0], [5.0, 7.0]):
        statistics.add(
            RewardAnswer(reward=np.array(values), components={"half": np.array(values) / 2}, cpu_s=0.0)
        )
    found = statistics.cut()
    assert found["reward"] == {"mean": 4.0, "std": np.std([1, 3, 5, 7]), "min": 1.0, "max": 7.0}
    assert found["components"]["half"]["mean"] == 2.0
    assert statistics.cut() == {}


def test_a_component_may_have_any_name(toy_task):
    statistics = RewardStatistics()
    components = {"total": np.array([7.0]), "reward": np.array([8.0])}
    statistics.add(RewardAnswer(reward=np.array([1.0]), components=components, cpu_s=0.0))
    found = statistics.cut()
    assert found["reward"]["mean"] == 1.0
    assert {name: of["mean"] for name, of in found["components"].items()} == {"total": 7.0, "reward": 8.0}


def test_the_last_state_of_an_episode_is_its_own_and_the_next_row_starts_in_the_new_one(toy_task):
    source = Recording()
    venv = vectorised(toy_task(), source)
    venv.seed(7)
    np.testing.assert_array_equal(venv.reset(), [[7, 0]])
    given = [venv.step(np.zeros((1, 2), dtype=np.float32)) for _ in range(7)]
    batches = [batch for batch, _, _ in source.asked]
    assert [tuple(b.state[0]) for b in batches] == [
        (7, 0), (8, 1), (9, 2), (17, 0), (18, 1), (19, 2), (27, 0),
    ]  # fmt: skip
    assert [tuple(b.next_state[0]) for b in batches] == [
        (8, 1), (9, 2), (10, 3), (18, 1), (19, 2), (20, 3), (28, 1),
    ]  # fmt: skip
    # The first episode terminates, the second is truncated.
    assert [bool(b.terminated[0]) for b in batches] == [False, False, True, False, False, False, False]
    assert [bool(done[0]) for _, _, done, _ in given] == [False, False, True, False, False, True, False]
    assert [tuple(obs[0]) for obs, *_ in given][2] == (17, 0), "the learner sees the new episode"
    assert [float(reward[0]) for _, reward, _, _ in given] == [1, 2, 3, 4, 5, 6, 7]
    assert given[0][1].dtype == np.float32


def test_a_batch_that_was_asked_is_not_changed_by_the_next_step(toy_task):
    source = Recording()
    venv = vectorised(toy_task(), source)
    venv.seed(7)
    venv.reset()
    for _ in range(4):
        venv.step(np.zeros((1, 2), dtype=np.float32))
    assert tuple(source.asked[2][0].next_state[0]) == (10, 3)


def test_each_environment_has_a_row_of_its_own(toy_task):
    source = Recording()
    venv = vectorised(
        toy_task({"env": {"factory": "env.py:make", "kwargs": {"length": 2}}}), source, n_envs=3
    )
    venv.seed(20)
    venv.reset()
    for _ in range(3):
        venv.step(np.arange(6.0).reshape(3, 2) / 10)
    batch, env_reward, told = source.asked[0]
    np.testing.assert_array_equal(batch.state, [[20, 0], [21, 0], [22, 0]])
    np.testing.assert_array_equal(batch.action, np.arange(6.0).reshape(3, 2) / 10)
    np.testing.assert_array_equal(env_reward, [10.0, 10.0, 10.0])
    assert env_reward.dtype == np.float64
    assert told == [False, False, False]
    assert source.asked[1][2] == [True, True, True]
    np.testing.assert_array_equal(source.asked[2][0].state, [[30, 0], [31, 0], [32, 0]])


def test_discrete_actions_are_a_column_of_integers(toy_task):
    source = Recording()
    venv = vectorised(toy_task(CART_POLE), source, n_envs=2)
    venv.reset()
    venv.step(np.array([1, 0]))
    action = source.asked[0][0].action
    assert action.dtype == np.int64
    assert action.tolist() == [[1], [0]]


def test_time_is_told_apart_and_statistics_are_kept(toy_task):
    venv = vectorised(toy_task(), Recording())
    venv.reset()
    venv.step(np.zeros((1, 2), dtype=np.float32))
    assert venv.env_s > 0.0
    assert venv.reward_s > 0.0
    assert venv.statistics.cut()["reward"]["mean"] == 1.0
