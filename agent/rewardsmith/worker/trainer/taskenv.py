"""The environment of a task, with every step's state vector recorded beside it."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from rewardsmith.contract.sources import STATE_FILE_SOURCE, extraction_code
from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.schema import Task
from rewardsmith.types import FloatArray
from rewardsmith.worker.trainer.making import BaseMaker, attribute, import_task_file, load_function
from rewardsmith.worker.trainer.spaces import flat_observations

STATE_KEY = "rewardsmith.state"
SUCCESS_KEY = "rewardsmith.success"

Extract = Callable[[Any, dict[str, Any], gym.Env[Any, Any]], FloatArray]


def make_extract(task: Task) -> Extract:
    """Return `extract_state(obs, info, env)` for the task's layout."""
    namespace: dict[str, Any] = {"np": np}
    if task.uses_state_file:
        module = import_task_file(task.folder / STATE_FILE_SOURCE)
        for field in task.file.state:
            if field.source == STATE_FILE_SOURCE:
                namespace[field.name] = attribute(module, field.name, task.folder / STATE_FILE_SOURCE)
    code = extraction_code([(field.name, field.source) for field in task.file.state])
    exec(compile(code, f"<state layout of {task.name}>", "exec"), namespace)
    extract: Extract = namespace["extract_state"]
    return extract


class StateRecorder(gym.Wrapper[Any, Any, Any, Any]):
    """Answers an `info` that holds the state vector, and the success that the environment tells.

    The environment's own entries are read here and dropped: Stable-Baselines3 copies every `info` in depth at
    every step, which costs more than all else that is done around a fast environment.
    """

    def __init__(
        self, env: gym.Env[Any, Any], task: Task, extract: Extract, success_info: str | None
    ) -> None:
        super().__init__(env)
        self._task = task
        self._dim = task.layout.dim
        self._extract = extract
        self._success_info = success_info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset and record the first state."""
        obs, info = self.env.reset(seed=seed, options=options)
        state = self._state(obs, info)
        if len(state) != self._dim:
            raise TaskError(
                f"{self._task.name}: the sources answer {len(state)} values, the fields declare {self._dim}; "
                "compare each field's shape with its source"
            )
        return obs, {STATE_KEY: state}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step and record the next state."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        kept: dict[str, Any] = {STATE_KEY: self._state(obs, info)}
        if self._success_info is not None:
            if self._success_info not in info:
                raise TaskError(f"{self._task.name}: success: a step's info has no {self._success_info!r}")
            kept[SUCCESS_KEY] = bool(info[self._success_info] > 0.5)
        return obs, reward, terminated, truncated, kept

    def _state(self, obs: Any, info: dict[str, Any]) -> FloatArray:
        try:
            return self._extract(obs, info, self.env)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise TaskError(f"{self._task.name}: the state cannot be read ({reason})") from error


class EnvMaker:
    """Makes environments of one task; imports what it needs once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._extract = make_extract(task)
        self._base = BaseMaker(task.file.env, task.folder, task.name)
        success = task.file.success
        from_info = success is not None and success.source.startswith("info.")
        self._success_info = success.source.removeprefix("info.") if success and from_info else None
        self._prepared: list[gym.Env[Any, Any]] = []

    def prepare(self, n_envs: int) -> None:
        """Make environments ahead of time, for `make` to hand out: a fork inherits them for nothing."""
        self._prepared += [self.make() for _ in range(n_envs)]

    def horizon(self) -> int | None:
        """Return the most policy steps that an episode may have, or None where nothing says so."""
        config = self.task.file.env
        env = self.make()
        limit = config.max_episode_steps or (env.spec.max_episode_steps if env.spec else None)
        return None if limit is None else -(-limit // config.action_repeat)

    def make(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """Return one environment.

        Raises:
            TaskError: it cannot be made.
        """
        if self._prepared and render_mode is None:
            return self._prepared.pop()
        base = self._base.make(render_mode)
        recorded = StateRecorder(base, self.task, self._extract, self._success_info)
        return flat_observations(recorded, self.task.name)

    def expert(self) -> Callable[[Any], Any]:
        """Return the task's own policy, `act(observation)`.

        Raises:
            TaskError: the task has none, or it cannot be made.
        """
        if self.task.file.expert is None:
            raise TaskError(
                f"{self.task.name}: it has no expert; name one by the key 'expert' of its task.yaml"
            )
        make = load_function(self.task.file.expert, self.task.folder, self.task.name)
        env = self.make()
        try:
            act: Callable[[Any], Any] = make(env)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise TaskError(f"{self.task.name}: the expert cannot be made ({reason})") from error
        finally:
            env.close()
        return act
