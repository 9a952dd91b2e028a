"""Action and observation spaces: which of them a policy can be trained on, and how they are passed on."""

import textwrap
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rewardsmith.contract.layout import ActionSpec
from rewardsmith.errors import TaskError

MAX_OBSERVATION = 4096
"""Values in one observation; a policy here is a multi-layer perceptron, which has no use for pictures."""

_WRAP_HINT = (
    "write a function that wraps the environment, and name it by env.factory (file.py:function) in task.yaml"
)


def action_spec(space: spaces.Space[Any], task_name: str) -> ActionSpec:
    """Return the action as reward code sees it.

    Raises:
        TaskError: the action space is neither a flat, bounded Box nor one of choices that start at 0.
    """
    match space:
        case spaces.Discrete(start=0):
            return ActionSpec(dim=1, discrete=True, low=(0.0,), high=(float(space.n - 1),))
        case spaces.MultiDiscrete() if space.nvec.ndim == 1 and not np.any(space.start):
            high = tuple(float(n - 1) for n in space.nvec)
            return ActionSpec(dim=len(high), discrete=True, low=(0.0,) * len(high), high=high)
        case spaces.MultiBinary(shape=(n,)):
            return ActionSpec(dim=n, discrete=True, low=(0.0,) * n, high=(1.0,) * n)
        case spaces.Box(shape=(n,)) if space.is_bounded() and space.dtype.kind == "f":
            low, high = (tuple(map(float, bound)) for bound in (space.low, space.high))
            return ActionSpec(dim=n, low=low, high=high)
    raise TaskError(
        f"{task_name}: actions of {_shown(space)} are not supported; use a flat, bounded Box of floats, or a "
        f"Discrete, MultiDiscrete or MultiBinary that starts at 0: {_WRAP_HINT}"
    )


def applied_action(action: Any, space: spaces.Space[Any]) -> Any:
    """Return what is passed to the environment: clipped to a Box's bounds, as Stable-Baselines3 does."""
    return np.clip(action, space.low, space.high) if isinstance(space, spaces.Box) else action


def action_array(actions: Sequence[Any], space: spaces.Space[Any]) -> Any:
    """Return applied actions as reward code sees them, shape `(T, action_dim)`."""
    rows = np.stack([np.atleast_1d(action) for action in actions])
    return rows.astype(np.float64 if isinstance(space, spaces.Box) else np.int64)


def random_action(space: spaces.Space[Any], rng: np.random.Generator) -> Any:
    """Return an action drawn uniformly, by `rng` and not by the space's own generator."""
    match space:
        case spaces.Discrete():
            return int(rng.integers(space.start, space.start + space.n))
        case spaces.MultiDiscrete():
            return (space.start + rng.integers(0, space.nvec)).astype(space.dtype)
        case spaces.MultiBinary():
            return rng.integers(0, 2, size=space.shape).astype(space.dtype)
        case spaces.Box():
            low, high = np.clip(space.low, -1e3, None), np.clip(space.high, None, 1e3)
            return rng.uniform(low, high).astype(space.dtype)
    raise TypeError(f"no random action of {space}")


def flat_observations(env: gym.Env[Any, Any], task_name: str) -> gym.Env[Any, Any]:
    """Return the environment with observations that a multi-layer perceptron takes: one vector each.

    A Dict or Tuple is concatenated, a Discrete becomes a one-hot vector.

    Raises:
        TaskError: the observations are pictures, text, or of a size that is not fixed.
    """
    space = env.observation_space
    fault = _unfit(space)
    if fault is not None:
        raise TaskError(f"{task_name}: {fault}; {_WRAP_HINT}")
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return env
    return gym.wrappers.FlattenObservation(env)


def _unfit(space: spaces.Space[Any]) -> str | None:
    """Return why observations of a space are not supported, or None where they are."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.values() if isinstance(space, spaces.Dict) else space
        return next((fault for fault in map(_unfit, parts) if fault), None)
    if not isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        reason = "they are no numbers, or their number is not fixed"
        return f"observations of {_shown(space)} are not supported: {reason}"
    if isinstance(space, spaces.Box) and len(space.shape) >= 2 and space.dtype == np.uint8:
        return f"observations of {_shown(space)} look like pictures, which are not supported: use numbers"
    size = spaces.flatdim(space)
    if size > MAX_OBSERVATION:
        return f"an observation of {size} values is not supported: at most {MAX_OBSERVATION}"
    return None


def _shown(space: spaces.Space[Any]) -> str:
    return textwrap.shorten(str(space), 200, placeholder=" ...")
