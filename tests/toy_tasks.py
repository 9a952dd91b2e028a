"""A made-up task whose every number is known: a walk along a line, one place a step."""

import yaml

WALK_ENV = """
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    \"\"\"Counts its steps: state (position, step), reward 10 a step, ends after `length` steps.

    In every other episode the end is a truncation. A seed chooses the first position.
    \"\"\"

    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = gym.spaces.Box(-1e3, 1e3, (2,), np.float32)

    def __init__(self, length=3, render_mode=None, forgets_seed=False):
        self.length, self.render_mode, self.forgets_seed = length, render_mode, forgets_seed
        self.start, self.episode, self.info = 0, -1, {}

    def _obs(self):
        return np.array([self.position, self.steps], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        if seed is not None and not self.forgets_seed:
            self.start, self.episode = seed % 100, -1
        self.episode += 1
        self.position, self.steps = self.start + 10 * self.episode, 0
        return self._obs(), self._tell()

    def _tell(self):
        # The same dict each time, on purpose.
        self.info["success"] = float(self.steps == 2)
        self.info["place"] = self.position
        self.info["pair"] = np.array([self.position, -self.position])
        return self.info

    def step(self, action):
        assert self.action_space.contains(np.asarray(action, dtype=np.float32))
        self.position += 1
        self.steps += 1
        done = np.bool_(self.steps >= self.length)
        truncated = done & (self.episode % 2 == 1)
        return self._obs(), 10.0, done & ~truncated, truncated, self._tell()


def make(**kwargs):
    return Walk(**kwargs)


class Sorted(gym.ObservationWrapper):
    observation_space = gym.spaces.Dict(
        place=gym.spaces.Box(-1e3, 1e3, (1,), np.float32), clock=gym.spaces.Box(-1e3, 1e3, (1,), np.float32)
    )

    def observation(self, obs):
        return {"place": obs[:1], "clock": obs[1:]}


def make_dict(**kwargs):
    return Sorted(Walk(**kwargs))


class Silent(gym.Wrapper):
    def step(self, action):
        *rest, _ = self.env.step(action)
        return *rest, {}


def make_silent():
    return Silent(Walk())


class Odd(gym.ActionWrapper):
    action_space = gym.spaces.Box(-1.0, 1.0, (2, 2), np.float32)

    def action(self, action):
        return np.zeros(2)


def make_odd():
    return Odd(Walk())


class Switches(gym.ActionWrapper):
    action_space = gym.spaces.MultiDiscrete([2, 5])

    def action(self, action):
        assert self.action_space.contains(np.asarray(action))
        return np.zeros(2)


class Counted(gym.ObservationWrapper):
    observation_space = gym.spaces.Tuple(
        [gym.spaces.Discrete(200), gym.spaces.Dict(clock=gym.spaces.Box(0.0, 9.0, (1,), np.float32))]
    )

    def observation(self, obs):
        return int(obs[0]), {"clock": obs[1:]}


def make_switches():
    return Counted(Switches(Walk()))


class Broken(gym.ObservationWrapper):
    def observation(self, obs):
        return np.array([np.nan, 0.0], dtype=np.float32)


def make_broken():
    return Broken(Walk())


no_function = 3
"""

WALK_FITNESS = """
def success(state):
    return state.clock == 2


def progress(state):
    return state.clock / 10


def fitness(episode):
    return float(episode.state.place[-1] - episode.state.place[0])
"""

WALK = {
    "schema_version": 1,
    "goal": "Walk along the line.",
    "env": {"factory": "env.py:make"},
    "state": [{"name": "place", "source": "obs[0]"}, {"name": "clock", "source": "obs[1]"}],
    "success": {"source": "info.success"},
    "baselines": ["human", "sparse", "zero"],
    "training": {
        "n_envs": 2,
        "net_arch": [16],
        "total_timesteps": 64,
        "hyperparameters": {"n_steps": 16, "batch_size": 16, "n_epochs": 2},
    },
}
"""The walk, measured by the success that its environment tells."""

MEASURED = {
    "success": {"source": "fitness.py", "when": "last"},
    "fitness": "fitness.py",
    "progress": {"source": "fitness.py"},
    "baselines": ["human", "sparse", "zero", "progress"],
}
"""Changes that measure the walk by its fitness.py."""


def write_task(folder, changes=None, files=None):
    """Write the walk with some top-level keys changed (None drops one) and files added; return the folder."""
    data = {key: value for key, value in (WALK | (changes or {})).items() if value is not None}
    contents = {"env.py": WALK_ENV, "fitness.py": WALK_FITNESS} | (files or {})
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ({"task.yaml": yaml.safe_dump(data, sort_keys=False)} | contents).items():
        (folder / name).write_text(text)
    return folder
