"""Writes a draft as task.yaml: every key, and as comments what was guessed and what is to be decided."""

import textwrap
from collections.abc import Iterator
from typing import Any

import yaml

from rewardsmith.services.tasks.drafting.draft import Draft
from rewardsmith.services.tasks.drafting.fields import DraftField

_WIDTH = 108
_MAX_LISTED = 40


def task_yaml(draft: Draft, name: str) -> str:
    """Return the text of a task's file.

    Args:
        draft: what is known.
        name: of the task, `suite/name`.
    """
    blocks = (
        _head(draft, name),
        _env(draft),
        _state(draft),
        _measures(draft),
        _training(draft),
    )
    return "\n".join(line for block in blocks for line in block) + "\n"


def _head(draft: Draft, name: str) -> Iterator[str]:
    yield f"# Drafted by `rewardsmith task new` from {_plain(draft.made_from)}."
    yield "# Names, kinds, units and measures are guesses: read it through and correct it."
    yield f"# `rewardsmith task check {name}` tests it; README.md explains every key."
    yield "schema_version: 1"
    yield f"goal: {_scalar(draft.goal)}"
    if draft.requires:
        yield f"requires: {_scalar(list(draft.requires))}"


def _env(draft: Draft) -> Iterator[str]:
    yield "env:"
    for key, value in draft.env.items():
        if key != "max_episode_steps":
            yield f"  {key}: {_scalar(value)}"
    if draft.has_own_limit:
        yield f"  max_episode_steps: {draft.max_episode_steps}"
    else:
        yield "  # The environment has no time limit of its own. Choose one that leaves time for the goal."
        yield f"  max_episode_steps: {draft.max_episode_steps}"
    yield "  # action_repeat: 2     keeps each action for several steps: shorter episodes for a learner"
    yield f"# actions: {_plain(draft.action)}"


def _state(draft: Draft) -> Iterator[str]:
    yield "state:"
    if draft.told and not all(field.doc for field in draft.fields):
        yield "  # The environment's documentation says of its observation:"
        for line in draft.told:
            yield from textwrap.wrap(line, _WIDTH, initial_indent="  #   ", subsequent_indent="  #   ")
    for field in draft.fields:
        yield from _field(field)
    if draft.mujoco is not None:
        yield "  # A field may also be read from the simulator, by source: mujoco.qpos[i], mujoco.qvel[j] of"
        yield from _listed([f"{j['name'] or '?'} ({j['qpos']}, {j['qvel']})" for j in draft.mujoco["joints"]])
        yield "  # or as a position in the world, mujoco.body.NAME of"
        yield from _listed(draft.mujoco["bodies"])
        if draft.mujoco["sites"]:
            yield "  # or mujoco.site.NAME of"
            yield from _listed(draft.mujoco["sites"])


def _field(field: DraftField) -> Iterator[str]:
    yield f"  - name: {field.name}"
    yield f"    source: {_scalar(field.source)}"
    if not field.is_plain:
        yield f"    shape: [{field.size}]"
    if field.kind != "scalar":
        yield f"    kind: {field.kind}"
    if field.unit:
        yield f"    unit: {_scalar(field.unit)}"
    for key, value in (("low", field.low), ("high", field.high)):
        if value is not None:
            yield f"    {key}: {_number(value)}"
    if field.doc:
        yield f"    doc: {_scalar(field.doc)}"
    else:
        yield "    # What is it? Say so by `doc`, and by a better `name`; a model knows no more of it."
    low, high = field.seen
    always = f"always {low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    yield f"    # seen under random actions: {always}"


def _measures(draft: Draft) -> Iterator[str]:
    if draft.success_key is not None:
        when = "last" if draft.is_goal_env else "any"
        yield "# The environment tells success. `when: any` counts success at any step, `last` at the end."
        yield "success:"
        yield f"  source: info.{draft.success_key}"
        yield f"  when: {when}"
        yield "fitness: success"
        baselines = ["human", "sparse", "zero"]
    else:
        yield "# THE FITNESS IS THE ENVIRONMENT'S OWN REWARD: no success was found in its infos. A search"
        yield "# then finds at best another way to that reward. If you want something else, say what counts:"
        yield "#   success: {source: fitness.py, when: last}    fitness.py: success(state) -> (n,) bool"
        yield "#   fitness: success                             or fitness.py: fitness(episode) -> number"
        yield "fitness: return"
        yield 'fitness_doc: "Return of an episode under the environment\'s own reward."'
        baselines = ["human", "zero"]
    yield "# target_fitness: 0.95      fitness at which a search may end"
    yield "# How far an episode has come makes ranking much sharper: progress(state) -> (n,) in fitness.py,"
    yield "# with values from 0 to 1, and progress among the baselines:"
    yield "# progress: {source: fitness.py, over: mean}       or best, or last"
    yield f"baselines: {_scalar(baselines)}"


def _training(draft: Draft) -> Iterator[str]:
    yield f"# {draft.steps_per_s:,.0f} steps a second were simulated. A training is to take 40 s of one core."
    yield "# PPO suits all kinds of actions. SAC and TD3 (continuous) or DQN (one choice) learn from fewer"
    yield "# steps and take longer for each; TD3 needs action_noise_std."
    yield "training:"
    yield "  algorithm: PPO"
    yield f"  total_timesteps: {draft.total_timesteps}"
    yield "  n_envs: 8"
    yield "  net_arch: [64, 64]"
    yield "  hyperparameters:"
    for key, value in (
        ("n_steps", 128),
        ("batch_size", 256),
        ("n_epochs", 10),
        ("learning_rate", 0.001),
        ("gamma", draft.gamma),
        ("gae_lambda", 0.95),
    ):
        yield f"    {key}: {value}"
    yield "judge:"
    yield "  episodes: 10"
    yield "  final_episodes: 30"


def _listed(names: list[str]) -> Iterator[str]:
    """Yield comment lines with names, the first of many."""
    shown = [
        *names[:_MAX_LISTED],
        *([f"and {len(names) - _MAX_LISTED} more"] if len(names) > _MAX_LISTED else []),
    ]
    line = "  #  "
    for name in map(_plain, shown):
        if len(line) + len(name) > _WIDTH:
            yield line.rstrip(" ")
            line = "  #  "
        line += f" {name},"
    yield line.rstrip(",")


def _scalar(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...").strip()


def _number(value: float) -> str:
    return _scalar(float(f"{value:.6g}") + 0.0)


def _plain(text: str) -> str:
    """Return text that cannot end a comment."""
    return " ".join(text.split())
