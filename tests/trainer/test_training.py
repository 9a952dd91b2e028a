"""Tiny trainings: reproducible, divisible, and judged without a trace."""

import numpy as np
import pytest
import torch

from rewardsmith.errors import CandidateError, TaskError
from rewardsmith.types import RewardAnswer
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.rewards import GuardedReward, baseline_source
from rewardsmith.worker.trainer.training import policy_act
from trainer.walks import CART_POLE, PENDULUM, Recording, box, training


def weights(run):
    return torch.cat([p.detach().ravel() for p in run._model.policy.parameters()]).numpy()


def human(task):
    return baseline_source("human", Measures(task))


def trained(task, *steps, **changes):
    run = training(task, human(task), **changes)
    checkpoints = [run.advance(step) for step in steps]
    run.close()
    return weights(run), checkpoints


@pytest.mark.parametrize("changes", [PENDULUM, CART_POLE])
def test_the_same_seed_gives_the_same_policy_and_episodes(toy_task, changes):
    task = toy_task(changes)
    (first, [a]), (second, [b]) = trained(task, 64), trained(task, 64)
    np.testing.assert_array_equal(first, second)
    for one, other in zip(a.trajectories, b.trajectories, strict=True):
        np.testing.assert_array_equal(one.state, other.state)
        np.testing.assert_array_equal(one.action, other.action)
        assert one.fitness == other.fitness
    assert not np.array_equal(first, trained(task, 64, seed=4)[0])


@pytest.mark.parametrize("changes", [PENDULUM, CART_POLE])
def test_learning_in_two_parts_equals_learning_at_once(toy_task, changes):
    task = toy_task(changes)
    whole, [last] = trained(task, 128)
    parts, [first, second] = trained(task, 64, 128)
    np.testing.assert_array_equal(whole, parts)
    assert (first.step, second.step, last.step) == (64, 128, 128)
    np.testing.assert_array_equal(last.trajectories[0].state, second.trajectories[0].state)
    assert last.own_return == second.own_return


def test_a_checkpoint_tells_how_the_policy_does(toy_task):
    _, [found] = trained(toy_task(), 64)
    assert [int(t.state[0, 0]) for t in found.trajectories] == [1, 2], "the judge's seeds, modulo 100"
    assert {t.origin for t in found.trajectories} == {"i01c00/train/64"}
    assert found.own_return == pytest.approx(30.0)
    assert found.own_length == 3.0
    assert set(found.time_s) == {"env", "reward", "judge", "total"}
    assert 0 < found.time_s["judge"] < found.time_s["total"]


def test_a_checkpoint_before_an_episode_ends_has_no_own_return(toy_task):
    env = {"factory": "env.py:make", "kwargs": {"length": 100}}
    _, [found] = trained(toy_task({"env": env}), 32)
    assert (found.own_return, found.own_length) == (None, None)


def test_statistics_come_in_windows_of_a_tenth_and_each_once(toy_task):
    task = toy_task()
    run = training(task, GuardedReward(box, seed=0), total_timesteps=320)
    first, second = run.advance(64), run.advance(96)
    assert [window["step"] for window in first.statistics] == [32, 64]
    assert [window["step"] for window in second.statistics] == [96]
    window = first.statistics[0]
    assert window["reward"]["mean"] == pytest.approx(2 * window["components"]["place"]["mean"])


def test_statistics_of_a_training_shorter_than_its_windows_are_still_cut(toy_task):
    _, [found] = trained(toy_task(), 32, total_timesteps=5)
    assert [window["step"] for window in found.statistics] == list(range(2, 33, 2))


def test_judging_leaves_the_observation_statistics_alone(toy_task):
    run = training(toy_task(PENDULUM), human(toy_task(PENDULUM)))
    run.advance(64)
    before = (run._normalized.obs_rms.mean.copy(), run._normalized.obs_rms.count)
    run._judge()
    run._judge()
    np.testing.assert_array_equal(run._normalized.obs_rms.mean, before[0])
    assert run._normalized.obs_rms.count == before[1]


def test_the_judged_policy_sees_normalised_observations_and_does_not_explore(toy_task):
    run = training(toy_task(PENDULUM), human(toy_task(PENDULUM)))
    run.advance(64)
    act = policy_act(run._model, run._normalized)
    observations = [np.array([1.0, 0.0, 8.0]), np.array([-1.0, 0.0, -8.0])]
    expected, _ = run._model.predict(
        run._normalized.normalize_obs(np.stack(observations)), deterministic=True
    )
    for _ in range(3):
        np.testing.assert_array_equal(act(observations, [0, 1]), expected)


def test_the_reward_that_is_trained_on_is_the_sources(toy_task):
    env = {"factory": "env.py:make"}
    zero = training(toy_task({"env": env}), baseline_source("zero", Measures(toy_task())))
    assert zero.advance(64).own_return == 0.0
    assert zero._normalized.ret_rms.mean == 0.0


def test_more_judge_seeds_than_environments_are_played_in_turns(toy_task):
    _, [found] = trained(toy_task(), 32, judge_seeds=[1, 2, 3, 4, 5])
    assert [int(t.state[0, 0]) for t in found.trajectories] == [1, 2, 3, 4, 5]


def test_a_step_that_was_passed_already_is_judged_without_learning(toy_task):
    _, [first, second] = trained(toy_task(), 40, 60)
    assert (first.step, second.step) == (64, 64), "a rollout is 2 environments of 16 steps"
    np.testing.assert_array_equal(first.trajectories[0].state, second.trajectories[0].state)


def test_a_dict_observation_is_learnt_from(toy_task):
    fields = [{"name": "clock", "source": "obs.clock[0]"}]
    task = toy_task({"env": {"factory": "env.py:make_dict"}, "state": fields})
    _, [found] = trained(task, 32)
    assert len(found.trajectories) == 2


@pytest.mark.parametrize(
    ("algorithm", "changes"),
    [("SAC", PENDULUM), ("TD3", PENDULUM), ("DQN", CART_POLE), ("A2C", CART_POLE)],
)
def test_every_kind_of_algorithm_learns(toy_task, algorithm, changes):
    settings = {} if algorithm == "A2C" else {"learning_starts": 8, "batch_size": 8, "buffer_size": 100}
    config = {"algorithm": algorithm, "n_envs": 2, "net_arch": [16], "hyperparameters": settings}
    config |= {"action_noise_std": 0.1} if algorithm == "TD3" else {}
    task = toy_task(changes | {"training": config})
    before = weights(training(task, human(task)))
    after, [found] = trained(task, 40)
    assert found.step >= 40
    assert not np.array_equal(before, after)


def test_normalisation_can_be_turned_off(toy_task):
    config = toy_task().file.training.model_dump() | {
        "normalize_observation": False,
        "normalize_reward": False,
    }
    run = training(toy_task({"training": config | {"net_arch": [16]}}), human(toy_task()))
    obs = np.array([[500.0, 3.0]])
    np.testing.assert_array_equal(run._normalized.normalize_obs(obs), obs)
    assert run._normalized.norm_reward is False


def test_gamma_reaches_the_normalisation_of_rewards(toy_task):
    config = {
        "n_envs": 1,
        "net_arch": [16],
        "hyperparameters": {"gamma": 0.5, "n_steps": 16, "batch_size": 16},
    }
    run = training(toy_task({"training": config}), human(toy_task()))
    assert (run._normalized.gamma, run._model.gamma) == (0.5, 0.5)


def test_a_reward_that_drifts_is_found_at_the_latest_at_the_checkpoint(toy_task):
    calls = []

    def bomb(batch):
        calls.append(1)
        return RewardAnswer(reward=box(batch).reward + (len(calls) > 20), components={}, cpu_s=0.0)

    run = training(toy_task(), GuardedReward(bomb, seed=0))
    with pytest.raises(CandidateError, match="got another reward"):
        run.advance(64)


def test_several_choices_at_once_and_observations_in_parts_are_learnt_from(toy_task):
    fields = [{"name": "place", "source": "obs[0]"}]
    source = Recording()
    run = training(toy_task({"env": {"factory": "env.py:make_switches"}, "state": fields}), source)
    (judged, *_) = run.advance(32).trajectories
    assert (judged.action.dtype, judged.action.shape[1:]) == (np.int64, (2,))
    batch, *_ = source.asked[0]
    assert (batch.action.dtype, batch.action.shape) == (np.int64, (2, 2))


def test_an_action_space_that_cannot_be_trained_is_the_tasks_fault(toy_task):
    task = toy_task({"env": {"factory": "env.py:make_odd"}})
    with pytest.raises(TaskError, match="are not supported"):
        training(task, human(task))


def test_closing_closes_the_judges_environments_too(toy_task):
    task = toy_task()
    closed = []
    run = training(task, human(task))
    run.advance(32)
    for env in run._judge_envs:
        env.unwrapped.close = lambda: closed.append(1)
    run.close()
    assert len(closed) == 2
