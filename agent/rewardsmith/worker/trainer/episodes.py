"""Playing episodes: of a policy for the judge, of noise for the first store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from rewardsmith.types import Trajectory
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.spaces import action_array, applied_action, random_action
from rewardsmith.worker.trainer.taskenv import STATE_KEY, SUCCESS_KEY

Act = Callable[[list[Any], list[int]], Any]
"""`act(observations, episode numbers) -> actions`, one for each observation."""


@dataclass
class _Running:
    number: int
    env: gym.Env[Any, Any]
    obs: Any
    states: list[Any]
    actions: list[Any] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)
    env_return: float = 0.0
    terminated: bool = False
    done: bool = False

    def step(self, action: Any) -> None:
        applied = applied_action(action, self.env.action_space)
        self.obs, reward, terminated, truncated, info = self.env.step(applied)
        # Some environments answer NumPy's bool, which no JSON takes.
        self.terminated = bool(terminated)
        self.actions.append(applied)
        self.states.append(info[STATE_KEY])
        self.told.append(info.get(SUCCESS_KEY, False))
        self.env_return += float(reward)
        self.done = self.terminated or bool(truncated)


def play_episodes(
    envs: Sequence[gym.Env[Any, Any]], seeds: Sequence[int], act: Act, measures: Measures, origin: str
) -> list[Trajectory]:
    """Play one episode for each seed, `len(envs)` at a time, and judge it.

    Args:
        envs: environments to use; each episode resets one with its seed.
        seeds: environment seeds; the result depends on them, not on the number of environments.
        act: chooses actions.
        measures: the task's measures.
        origin: who acts, for the record.
    """
    trajectories = []
    for first in range(0, len(seeds), max(1, len(envs))):
        wave = []
        for number, env in zip(range(first, min(first + len(envs), len(seeds))), envs, strict=False):
            obs, info = env.reset(seed=seeds[number])
            wave.append(_Running(number=number, env=env, obs=obs, states=[info[STATE_KEY]]))
        while active := [episode for episode in wave if not episode.done]:
            actions = act([episode.obs for episode in active], [episode.number for episode in active])
            for episode, action in zip(active, actions, strict=True):
                episode.step(action)
        trajectories += [_judged(episode, measures, origin) for episode in wave]
    return trajectories


def _judged(episode: _Running, measures: Measures, origin: str) -> Trajectory:
    return measures.judge(
        state=np.stack(episode.states),
        action=action_array(episode.actions, episode.env.action_space),
        told=episode.told,
        terminated=episode.terminated,
        env_return=episode.env_return,
        origin=origin,
    )


class MixedActor:
    """An expert whose episodes are of every quality: noise takes its place at some steps, or from one on.

    Each episode draws the share of its steps at which noise acts, and whether the expert stops for good after
    a part of the horizon.

    Args:
        expert: `act(observation)`.
        noise: acts in its place.
        seeds: one for each episode.
        horizon: most steps of an episode.
    """

    NOISE = (0.0, 0.2, 0.5, 0.8)
    STOPS = 0.5
    """Share of the episodes in which the expert stops early."""

    def __init__(
        self, expert: Callable[[Any], Any], noise: "NoiseActor", seeds: Sequence[int], horizon: int
    ) -> None:
        self._expert, self._noise = expert, noise
        self._rng = [np.random.default_rng((seed, 1)) for seed in seeds]
        self._share = [float(rng.choice(self.NOISE)) for rng in self._rng]
        self._until = [
            int(rng.integers(1, horizon + 1)) if rng.random() < self.STOPS else horizon for rng in self._rng
        ]
        self._n_steps = [0] * len(seeds)

    def __call__(self, observations: list[Any], episodes: list[int]) -> list[Any]:
        """Return an action for each of the given episodes."""
        return [self._action(obs, number) for obs, number in zip(observations, episodes, strict=True)]

    def _action(self, observation: Any, number: int) -> Any:
        self._n_steps[number] += 1
        is_over = self._n_steps[number] > self._until[number]
        if is_over or self._rng[number].random() < self._share[number]:
            return self._noise([observation], [number])[0]
        return self._expert(observation)


class NoiseActor:
    """Random actions, from white noise to long-held ones, so that random episodes reach different states.

    Each episode draws how likely an action is to be kept for another step: 0, 0.5 or 0.9.
    """

    PERSISTENCE = (0.0, 0.5, 0.9)

    def __init__(self, space: gym.Space[Any], seeds: Sequence[int]) -> None:
        self._space = space
        self._rng = [np.random.default_rng(seed) for seed in seeds]
        self._keep = [float(rng.choice(self.PERSISTENCE)) for rng in self._rng]
        self._last: list[Any] = [None] * len(seeds)

    def __call__(self, observations: list[Any], episodes: list[int]) -> list[Any]:
        """Return an action for each of the given episodes."""
        return [self._action(number) for number in episodes]

    def _action(self, number: int) -> Any:
        rng = self._rng[number]
        if self._last[number] is None or rng.random() >= self._keep[number]:
            self._last[number] = random_action(self._space, rng)
        return self._last[number]
