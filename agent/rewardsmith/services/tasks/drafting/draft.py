"""The draft of a task: all of its keys, and what is to be decided by the person who asked for it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardsmith.services.tasks.drafting.doc_tables import observation_section
from rewardsmith.services.tasks.drafting.fields import DraftField, draft_fields

Facts = Mapping[str, Any]

SUCCESS_KEYS = ("is_success", "success", "solved", "goal_achieved", "task_success", "is_goal")
"""Entries of an info that tell success, as they are called by Gymnasium's environments and by others."""

TRAINING_S = 40.0
"""How long a training is to take, on one core."""
LEARNING_S = 75e-6
"""What PPO with 8 environments, batches of 256 and a small network adds to a step (measured on one core)."""
MIN_TIMESTEPS, MAX_TIMESTEPS = 10_000, 300_000
UNLIMITED_EPISODE = 200
"""Least time limit that is proposed where the environment has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A task before it is written down.

    Attributes:
        env: the key `env` of task.yaml.
        made_from: the environment and its class, for people.
        goal: what the agent should do.
        requires: extras of rewardsmith.
        fields: the state.
        max_episode_steps: the time limit.
        has_own_limit: whether the environment has that limit by itself.
        success_key: the entry of the infos that tells success, or None.
        is_goal_env: whether the observation holds a desired goal.
        total_timesteps: of a training.
        gamma: the learner's discount.
        steps_per_s: simulated in a second, alone, on the machine that drafted it.
        mujoco: names in the simulator, or None.
        action: the action space, for people.
        told: what the environment's documentation says of its observation, line by line.
    """

    env: Mapping[str, Any]
    made_from: str
    goal: str
    requires: tuple[str, ...]
    fields: tuple[DraftField, ...]
    max_episode_steps: int
    has_own_limit: bool
    success_key: str | None
    is_goal_env: bool
    total_timesteps: int
    gamma: float
    steps_per_s: float
    mujoco: Facts | None
    action: str
    told: tuple[str, ...]


def draft_task(facts: Facts, *, env: Mapping[str, Any], goal: str, requires: tuple[str, ...] = ()) -> Draft:
    """Return a draft.

    Args:
        facts: what `rewardsmith.worker.trainer.introspection` found.
        env: the key `env` of task.yaml by which the environment is made.
        goal: what the agent should do.
        requires: extras that it needs.
    """
    play = facts["play"]
    limit = env.get("max_episode_steps") or facts["max_episode_steps"]
    if limit is None and len(play["truncated_at"]) == 1:
        # It keeps a limit that it does not declare.
        (limit,) = play["truncated_at"]
    horizon = limit or max(UNLIMITED_EPISODE, 4 * max(play["lengths"]))
    step_s = play["step_s"] + play["reset_s"] / max(1.0, sum(play["lengths"]) / len(play["lengths"]))
    told = {entry["key"]: entry for entry in facts["info"]}
    success_key = next((key for key in SUCCESS_KEYS if key in told and _is_flag(told[key])), None)
    return Draft(
        env=env,
        made_from=f"{env.get('id') or env.get('factory')} ({facts['class']})",
        goal=goal,
        requires=requires,
        fields=tuple(draft_fields(facts)),
        max_episode_steps=horizon,
        has_own_limit=limit is not None,
        success_key=success_key,
        is_goal_env=any("desired_goal" in leaf["path"] for leaf in facts["observation"]),
        total_timesteps=_timesteps(step_s),
        gamma=0.98 if horizon <= 200 else 0.99,
        steps_per_s=1.0 / step_s,
        mujoco=facts["mujoco"],
        action=facts["action"],
        told=tuple(observation_section(facts["doc"])),
    )


def _is_flag(entry: Facts) -> bool:
    low, high = entry["seen_low"], entry["seen_high"]
    return bool(entry["size"] == 1 and low[0] >= 0.0 and high[0] <= 1.0)


def _timesteps(step_s: float) -> int:
    """Return how many steps fit a training, to two digits."""
    steps = min(max(TRAINING_S / (step_s + LEARNING_S), MIN_TIMESTEPS), MAX_TIMESTEPS)
    unit = 10.0 ** (math.floor(math.log10(steps)) - 1)
    return int(steps // unit * unit)
