"""How the environment of a task is made: by its id or by a function, with time limit and repeated actions."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.schema import EnvConfig, find_code_file


class BaseMaker:
    """Makes environments as the key `env` of a task names them, before their state is recorded.

    Args:
        config: which environment.
        folder: of the task, to which the file of a factory is relative.
        name: of the task, for messages.

    Raises:
        TaskError: a module cannot be imported, or has no such function.
    """

    def __init__(self, config: EnvConfig, folder: Path, name: str) -> None:
        self._config, self._name = config, name
        for module in config.imports:
            import_module(module, name)
        factory = config.factory
        self._factory = None if factory is None else load_function(factory, folder, name)

    def make(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """Return one environment, with its time limit, and its actions repeated.

        Raises:
            TaskError: it cannot be made.
        """
        config = self._config
        kwargs = dict(config.kwargs) | ({"render_mode": render_mode} if render_mode else {})
        try:
            env = self._make(kwargs)
            if not isinstance(env, gym.Env):
                raise TypeError(f"{env!r} is no Gymnasium environment")
            if config.action_repeat > 1:
                env = ActionRepeat(env, config.action_repeat)
            if self._factory is not None and config.max_episode_steps is not None:
                # Counted in policy steps; `gymnasium.make` has set its own limit in simulation steps.
                env = gym.wrappers.TimeLimit(env, -(-config.max_episode_steps // config.action_repeat))
        except (Exception, SystemExit) as error:
            what = config.id or config.factory
            reason = f"{type(error).__name__}: {error}"
            raise TaskError(f"{self._name}: cannot make {what} ({reason})") from error
        return env

    def _make(self, kwargs: dict[str, Any]) -> gym.Env[Any, Any]:
        config = self._config
        if self._factory is not None:
            env: gym.Env[Any, Any] = self._factory(**kwargs)
            return env
        assert config.id is not None
        limit = {} if config.max_episode_steps is None else {"max_episode_steps": config.max_episode_steps}
        return gym.make(config.id, disable_env_checker=True, **limit, **kwargs)


def load_function(what: str, folder: Path, name: str) -> Callable[..., Any]:
    """Return a function or class by `file.py:function`, relative to a task's folder, or `module:function`.

    Raises:
        TaskError: it is not there.
    """
    where, function = what.split(":")
    if where.endswith(".py"):
        module = import_task_file(find_code_file(folder, where))
    else:
        module = import_module(where, name)
    return attribute(module, function, f"{name}: {where}")


def import_task_file(path: Path) -> ModuleType:
    """Import a Python file of a task under a name of its own.

    Raises:
        TaskError: the file cannot be imported.
    """
    name = f"rewardsmith_task_{path.parent.name.replace('-', '_')}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look a class's module up here
    # Last, so that a file finds its neighbours, and hides nothing that is installed.
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise TaskError(f"{path}: cannot be imported ({type(error).__name__}: {error})") from error
    return module


def attribute(module: ModuleType, function: str, where: Path | str) -> Callable[..., Any]:
    """Return a function of a module; raises TaskError, which says where, if there is none."""
    found: Callable[..., Any] | None = getattr(module, function, None)
    if not callable(found):
        raise TaskError(f"{where}: it defines no {function!r} that can be called")
    return found


def import_module(name: str, task_name: str) -> ModuleType:
    """Import an installed module; raises TaskError if that fails."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise TaskError(f"{task_name}: cannot import {name} ({type(error).__name__}: {error})") from error


class ActionRepeat(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps each action for several simulation steps and adds up their rewards.

    An environment may offer `step_repeated(action, n_steps)`, with the answer of `step`, to do it faster.
    """

    def __init__(self, env: gym.Env[Any, Any], n_steps: int) -> None:
        super().__init__(env)
        self._n_steps = n_steps
        self._repeated = getattr(env, "step_repeated", None)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step until the action has been applied `n_steps` times or the episode has ended."""
        if self._repeated is not None:
            answer: tuple[Any, float, bool, bool, dict[str, Any]] = self._repeated(action, self._n_steps)
            return answer
        total = 0.0
        for _ in range(self._n_steps):
            obs, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return obs, total, terminated, truncated, info
