"""Looks at an environment: its spaces, what its documentation says, and what a short random play shows.

Run as `python -m rewardsmith.worker.trainer.introspection REQUEST_JSON OUT_FILE`; writes facts as JSON. What
they mean is guessed elsewhere (`services/tasks/drafting`).
"""

import importlib
import inspect
import json
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.schema import EnvConfig
from rewardsmith.types import FloatArray
from rewardsmith.worker.trainer.episodes import NoiseActor
from rewardsmith.worker.trainer.making import BaseMaker
from rewardsmith.worker.trainer.matching import MujocoRecord
from rewardsmith.worker.trainer.spaces import action_spec, flat_observations

PACKAGES = ("gymnasium_robotics", "mo_gymnasium", "ale_py", "shimmy", "highway_env", "minigrid")
"""Known packages whose import registers environments."""
_NOT_AN_ENVIRONMENT = (
    "gymnasium.core",
    "gymnasium.wrappers",
    "gymnasium.utils",
    "rewardsmith.",
    "builtins",
    "typing",
)
N_STEPS = 1000
MAX_EPISODES = 100
MAX_PLAY_S = 20.0

Facts = dict[str, Any]


def introspect(config: EnvConfig, folder: Path, name: str, seed: int = 0) -> Facts:
    """Return facts about an environment, ready for JSON.

    Args:
        config: which environment.
        folder: to which the file of a factory is relative.
        name: of the task, for messages.
        seed: of the random play.

    Raises:
        TaskError: it cannot be made, or a policy cannot be trained on its spaces.
    """
    found_in = _register(config)
    if found_in is not None:
        config = config.model_copy(update={"imports": (*config.imports, found_in)})
    env = BaseMaker(config, folder, name).make()
    try:
        action_spec(env.action_space, name)
        flat_observations(env, name)
        play = _Play(env)
        try:
            play.run(seed)
        except Exception as error:
            raise TaskError(
                f"{name}: the environment fails while it is played ({type(error).__name__}: {error})"
            ) from error
        inner = env.unwrapped
        return {
            "imports": list(config.imports),
            "class": f"{type(inner).__module__}.{type(inner).__qualname__}",
            "doc": _documentation(env),
            "max_episode_steps": env.spec.max_episode_steps if env.spec else None,
            "action": str(env.action_space),
            "observation": play.leaves(),
            "mujoco": play.mujoco and play.mujoco.names(),
            "info": play.info(),
            "play": play.summary(),
        }
    finally:
        env.close()


def _register(config: EnvConfig) -> str | None:
    """Import packages that register environments until one knows the id; return the one that does."""
    if config.id is None or config.imports or config.id in gym.registry:
        return None
    for package in PACKAGES:
        with suppress(ImportError):
            importlib.import_module(package)
            if config.id in gym.registry:
                return package
    return None


def _documentation(env: gym.Env[Any, Any]) -> str:
    """Return the docstring of an environment: of a wrapper that has one of its own, or else of its class."""
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    classes = [base for layer in layers for base in type(layer).__mro__]
    docs = [
        inspect.cleandoc(base.__doc__)
        for base in classes
        if base.__doc__ and not base.__module__.startswith(_NOT_AN_ENVIRONMENT)
    ]
    tells = [doc for doc in docs if re.search(r"^#+ .*observation", doc, re.IGNORECASE | re.MULTILINE)]
    return next(iter([*tells, *docs]), "")


class _Play:
    """Random episodes of an environment, and all that was observed in them."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._env = env
        self._spaces = dict(_leaf_spaces(env.observation_space, (), "obs"))
        self._sizes = {source: np.size(space.sample()) for source, (_, space) in self._spaces.items()}
        self._seen: dict[str, list[FloatArray]] = {source: [] for source in self._spaces}
        self._info: dict[str, list[Any]] = {}
        self._info_at_reset: set[str] = set()
        self._lengths: list[int] = []
        self._truncated_at: set[int] = set()
        self._step_s = self._reset_s = 0.0
        self.mujoco = MujocoRecord.of(env)

    def run(self, seed: int) -> None:
        """Play until there are enough steps, or it takes too long."""
        started = time.perf_counter()
        while sum(self._lengths) < N_STEPS and len(self._lengths) < MAX_EPISODES:
            self._episode(seed + len(self._lengths))
            if time.perf_counter() - started > MAX_PLAY_S:
                return

    def _episode(self, seed: int) -> None:
        act = NoiseActor(self._env.action_space, [seed])
        before = time.perf_counter()
        obs, info = self._env.reset(seed=seed)
        self._reset_s += time.perf_counter() - before
        self._info_at_reset |= info.keys() if not self._lengths else self._info_at_reset & info.keys()
        self._note(obs, info)
        length, ended = 0, False
        while not ended and length < N_STEPS:
            (action,) = act([obs], [0])
            before = time.perf_counter()
            obs, _, terminated, truncated, info = self._env.step(action)
            self._step_s += time.perf_counter() - before
            self._note(obs, info)
            length, ended = length + 1, bool(terminated or truncated)
            if truncated and not terminated:
                self._truncated_at.add(length)
        self._lengths.append(length)

    def _note(self, obs: Any, info: dict[str, Any]) -> None:
        for source, (path, space) in self._spaces.items():
            value = obs
            for key in path:
                value = value[key]
            row = np.ravel(np.asarray(value, dtype=np.float64))
            if row.size != self._sizes[source]:
                raise ValueError(f"{source} has {row.size} values, which is not what {space} says")
            self._seen[source].append(row)
        for key, value in info.items():
            number = _numbers(value)
            if number is not None and isinstance(key, str):
                self._info.setdefault(key, []).append(number)
        if self.mujoco is not None:
            self.mujoco.note()

    def leaves(self) -> list[Facts]:
        """Return each part of the observation: where it is read, its space, and what was seen of it."""
        found = []
        for source, (path, space) in self._spaces.items():
            seen = np.stack(self._seen[source])
            found.append(
                {
                    "source": source,
                    "path": [str(key) for key in path],
                    "kind": type(space).__name__,
                    "shape": list(np.asarray(space.sample()).shape),
                    "low": _bounds(space, "low", seen.shape[1]),
                    "high": _bounds(space, "high", seen.shape[1]),
                    "seen_low": seen.min(axis=0).tolist(),
                    "seen_high": seen.max(axis=0).tolist(),
                    "is_binary": np.isin(seen, (0.0, 1.0)).all(axis=0).tolist(),
                    "matches": self.mujoco.matches(seen) if self.mujoco else [None] * seen.shape[1],
                }
            )
        return found

    def info(self) -> list[Facts]:
        """Return each number in the infos: its size, and what was seen of it."""
        found = []
        for key, rows in self._info.items():
            if len({row.shape for row in rows}) > 1:
                continue
            seen = np.stack(rows)
            found.append(
                {
                    "key": key,
                    "size": seen.shape[1],
                    "at_reset": key in self._info_at_reset,
                    "seen_low": seen.min(axis=0).tolist(),
                    "seen_high": seen.max(axis=0).tolist(),
                }
            )
        return found

    def summary(self) -> Facts:
        """Return how the episodes went, and how long steps and resets took."""
        n_steps = max(1, sum(self._lengths))
        return {
            "lengths": self._lengths,
            "truncated_at": sorted(self._truncated_at),
            "step_s": self._step_s / n_steps,
            "reset_s": self._reset_s / len(self._lengths),
        }


def _leaf_spaces(space: gym.Space[Any], path: tuple[Any, ...], source: str) -> list[tuple[str, Any]]:
    """Return `(source, (path, space))` for each part of an observation space."""
    if isinstance(space, gym.spaces.Dict):
        parts = [_leaf_spaces(s, (*path, key), f"{source}.{key}") for key, s in space.spaces.items()]
    elif isinstance(space, gym.spaces.Tuple):
        parts = [_leaf_spaces(s, (*path, i), f"{source}[{i}]") for i, s in enumerate(space.spaces)]
    else:
        return [(source, (path, space))]
    return [leaf for part in parts for leaf in part]


def _bounds(space: gym.Space[Any], which: str, size: int) -> list[float | None]:
    """Return the bound of each value that a space declares, None where it declares none."""
    if isinstance(space, gym.spaces.Box):
        values = np.ravel(np.asarray(getattr(space, which), dtype=np.float64))
        # A bound of the size of the dtype's range is how some environments say that there is none.
        return [float(v) if abs(v) < 1e6 else None for v in values]
    if which == "low":
        return [float(v) for v in np.broadcast_to(np.ravel(getattr(space, "start", 0)), size)]
    if isinstance(space, gym.spaces.Discrete):
        return [float(space.start + space.n - 1)]
    if isinstance(space, gym.spaces.MultiDiscrete):
        return [float(v) for v in np.ravel(space.start + space.nvec - 1)]
    return [1.0] * size


def _numbers(value: Any) -> FloatArray | None:
    """Return an entry of an info as a vector, or None where it is no small vector of finite numbers."""
    if not isinstance(value, bool | int | float | np.bool_ | np.number | np.ndarray):
        return None
    array = np.ravel(np.asarray(value))
    if array.dtype.kind not in "biuf" or not 1 <= array.size <= 64:
        return None
    numbers = array.astype(np.float64)
    return numbers if np.isfinite(numbers).all() else None


def main(argv: list[str]) -> int:
    """Write the facts, or why there are none, to a file."""
    request, out = json.loads(argv[0]), Path(argv[1])
    config = EnvConfig.model_validate(request["env"])
    answer: Facts
    try:
        answer = {"facts": introspect(config, Path(request["folder"]), request["name"])}
    except TaskError as error:
        answer = {"refusal": str(error)}
    out.write_text(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
