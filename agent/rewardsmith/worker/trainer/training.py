"""One training: learn to a checkpoint, judge the policy, report, go on or stop."""

import inspect
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.schema import Task
from rewardsmith.types import Trajectory
from rewardsmith.worker.trainer.episodes import play_episodes
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.rewards import GuardedReward, RewardedVecEnv, RewardSource
from rewardsmith.worker.trainer.spaces import action_spec
from rewardsmith.worker.trainer.taskenv import EnvMaker

N_STATISTICS_WINDOWS = 10
_NOT_FOR_TASKS = ("policy", "env", "seed", "device", "policy_kwargs", "action_noise", "_init_setup_model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A policy at one moment of its training, judged.

    Attributes:
        step: policy steps so far, summed over the environments.
        trajectories: judged episodes, one for each judge seed.
        own_return: mean return of the last training episodes under the reward that was trained on, or None.
        own_length: their mean length in policy steps, or None.
        statistics: of reward components, one entry for each window since the last checkpoint.
        time_s: seconds so far spent in `env`, `reward`, `judge` and all (`total`).
    """

    step: int
    trajectories: list[Trajectory]
    own_return: float | None
    own_length: float | None
    statistics: list[dict[str, Any]]
    time_s: dict[str, float]


class Training:
    """A learner on a task under one reward.

    Args:
        maker: makes the task's environments.
        measures: the task's measures.
        source: the reward.
        seed: of learner and environments.
        judge_seeds: one held-out episode each, played at every checkpoint.
        total_timesteps: planned length; sets the windows of the statistics.
        origin: who acts, for the record.
    """

    def __init__(
        self,
        maker: EnvMaker,
        measures: Measures,
        source: RewardSource,
        *,
        seed: int,
        judge_seeds: list[int],
        total_timesteps: int,
        origin: str,
    ) -> None:
        torch.set_num_threads(1)
        self._maker, self._measures, self._source = maker, measures, source
        self._judge_seeds, self._origin = judge_seeds, origin
        config = maker.task.file.training
        venv = DummyVecEnv([maker.make] * config.n_envs)
        self._rewarded = RewardedVecEnv(venv, source, action_spec(venv.action_space, maker.task.name))
        self._normalized = VecNormalize(
            VecMonitor(self._rewarded),
            norm_obs=config.normalize_observation,
            norm_reward=config.normalize_reward,
            gamma=config.gamma,
        )
        self._model = _make_model(maker.task, self._normalized, seed)
        self._windows = _StatisticsCallback(self._rewarded, total_timesteps)
        self._judge_envs: list[gym.Env[Any, Any]] = []
        self._started = time.perf_counter()
        self._judge_s = 0.0

    @property
    def step(self) -> int:
        """Policy steps done so far."""
        return int(self._model.num_timesteps)

    def advance(self, step: int) -> Checkpoint:
        """Learn until at least `step` steps are done in all, then judge."""
        first = self.step == 0
        self._model.learn(step - self.step, reset_num_timesteps=first, callback=self._windows)
        if isinstance(self._source, GuardedReward):
            self._source.recheck_all()
        judged = self._judge()
        episodes = self._model.ep_info_buffer or ()
        return Checkpoint(
            step=self.step,
            trajectories=judged,
            own_return=float(np.mean([e["r"] for e in episodes])) if episodes else None,
            own_length=float(np.mean([e["l"] for e in episodes])) if episodes else None,
            statistics=self._windows.take(),
            time_s={
                "env": self._rewarded.env_s,
                "reward": self._rewarded.reward_s,
                "judge": self._judge_s,
                "total": time.perf_counter() - self._started,
            },
        )

    def close(self) -> None:
        """Close every environment."""
        self._normalized.close()
        for env in self._judge_envs:
            env.close()

    def _judge(self) -> list[Trajectory]:
        started = time.perf_counter()
        if not self._judge_envs:
            n_envs = min(len(self._judge_seeds), self._maker.task.file.training.n_envs)
            self._judge_envs = [self._maker.make() for _ in range(n_envs)]
        act = policy_act(self._model, self._normalized)
        origin = f"{self._origin}/{self.step}"
        trajectories = play_episodes(self._judge_envs, self._judge_seeds, act, self._measures, origin)
        self._judge_s += time.perf_counter() - started
        return trajectories


def policy_act(model: BaseAlgorithm, normalized: VecNormalize) -> Callable[[list[Any], list[int]], Any]:
    """Return the deterministic policy on raw observations; it reads the statistics and never updates them."""

    def act(observations: list[Any], episodes: list[int]) -> Any:
        obs: Any = normalized.normalize_obs(np.stack(observations))
        return model.predict(obs, deterministic=True)[0]

    return act


def check_learner(maker: EnvMaker) -> None:
    """Make the learner once, to see that the task's training settings are such that one can be made.

    Raises:
        TaskError: says which setting Stable-Baselines3 refuses, in its words.
    """
    config = maker.task.file.training
    algorithm: type[BaseAlgorithm] = getattr(stable_baselines3, config.algorithm)
    known = [name for name in inspect.signature(algorithm).parameters if name not in _NOT_FOR_TASKS]
    unknown = next((name for name in config.hyperparameters if name not in known), None)
    if unknown is not None:
        raise TaskError(
            f"{maker.task.name}: training.hyperparameters.{unknown}: unknown to {config.algorithm}; "
            f"it knows {', '.join(known)}"
        )
    venv = DummyVecEnv([maker.make] * config.n_envs)
    try:
        _make_model(maker.task, VecNormalize(venv), seed=0)
    except Exception as error:
        reason = textwrap.shorten(f"{type(error).__name__}: {error}", 300, placeholder=" ...")
        raise TaskError(
            f"{maker.task.name}: training: {config.algorithm} cannot be made ({reason})"
        ) from error
    finally:
        venv.close()


def rollout_steps(task: Task) -> int:
    """Return how many steps a learner collects before it learns, and so by how many it may overshoot."""
    config = task.file.training
    algorithm: type[BaseAlgorithm] = getattr(stable_baselines3, config.algorithm)
    key = "n_steps" if issubclass(algorithm, OnPolicyAlgorithm) else "train_freq"
    value = config.hyperparameters.get(key, inspect.signature(algorithm).parameters[key].default)
    return config.n_envs * int(value[0] if isinstance(value, tuple | list) else value)


def _make_model(task: Task, env: VecNormalize, seed: int) -> BaseAlgorithm:
    config = task.file.training
    algorithm: type[BaseAlgorithm] = getattr(stable_baselines3, config.algorithm)
    settings = dict(config.hyperparameters)
    if config.action_noise_std is not None:
        n = env.action_space.shape[0] if env.action_space.shape else 1
        settings["action_noise"] = NormalActionNoise(np.zeros(n), config.action_noise_std * np.ones(n))
    return algorithm(
        "MlpPolicy",
        env,
        seed=seed,
        device="cpu",
        policy_kwargs={"net_arch": list(config.net_arch)},
        **settings,
    )


class _StatisticsCallback(BaseCallback):
    """Cuts the reward statistics into windows of a tenth of the planned training."""

    def __init__(self, rewarded: RewardedVecEnv, total_timesteps: int) -> None:
        super().__init__()
        self._rewarded = rewarded
        self._total_timesteps = total_timesteps
        self._every = max(1, total_timesteps // N_STATISTICS_WINDOWS)
        self._next = self._every
        self._windows: list[dict[str, Any]] = []

    def _on_training_start(self) -> None:
        # DQN's exploration falls over the whole training, not up to the next checkpoint, which is what each
        # call of `learn` takes for the end.
        self.model._total_timesteps = self._total_timesteps

    def _on_step(self) -> bool:
        if self.num_timesteps >= self._next:
            self._windows.append({"step": self.num_timesteps, **self._rewarded.statistics.cut()})
            self._next += self._every
        return True

    def take(self) -> list[dict[str, Any]]:
        """Return the windows that were finished since the last call."""
        windows, self._windows = self._windows, []
        return windows
