"""Tests a task's own contract: its state layout, its measures and its reproducibility."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.schema import Task
from rewardsmith.types import FloatArray, Trajectory
from rewardsmith.worker.trainer.episodes import NoiseActor, play_episodes
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.spaces import action_spec
from rewardsmith.worker.trainer.taskenv import EnvMaker
from rewardsmith.worker.trainer.training import check_learner

N_STEPS = 1000
MIN_EPISODES = 4

Finding = dict[str, str]


def check_task(maker: EnvMaker, measures: Measures, seed: int) -> list[Finding]:
    """Play random episodes and return findings `{"level": "ok" | "warning" | "error", "text": ...}`."""
    task = maker.task
    try:
        check_learner(maker)
        trajectories = _random_steps(maker, measures, seed)
    except TaskError as error:
        return [_finding("error", str(error))]
    states = np.concatenate([t.state for t in trajectories])
    n_steps = sum(map(len, trajectories))
    findings = [_finding("ok", f"{len(trajectories)} random episodes, {n_steps} steps")]
    findings += _check_layout(task, states)
    findings += _check_measures(trajectories)
    return [*findings, _check_reproducible(maker, measures, seed, trajectories[:2])]


def _random_steps(maker: EnvMaker, measures: Measures, seed: int) -> list[Trajectory]:
    env = maker.make()
    action_spec(env.action_space, maker.task.name)
    trajectories: list[Trajectory] = []
    try:
        while sum(map(len, trajectories)) < N_STEPS or len(trajectories) < MIN_EPISODES:
            trajectories.append(_play(env, measures, seed + len(trajectories)))
    finally:
        env.close()
    return trajectories


def _check_reproducible(
    maker: EnvMaker, measures: Measures, seed: int, before: Sequence[Trajectory]
) -> Finding:
    """Play the first episodes again, the other way round: what one leaves behind would show in the next."""
    env = maker.make()
    try:
        again = [_play(env, measures, seed + i) for i in reversed(range(len(before)))]
    finally:
        env.close()
    if all(_same(a, b) for a, b in zip(before, reversed(again), strict=True)):
        return _finding("ok", "the same seed gives the same episode, whatever was played before")
    return _finding(
        "error", "resets with the same seed gave different episodes: results cannot be reproduced"
    )


def _play(env: gym.Env[Any, Any], measures: Measures, seed: int) -> Trajectory:
    (trajectory,) = play_episodes([env], [seed], NoiseActor(env.action_space, [seed]), measures, "random")
    return trajectory


def _check_layout(task: Task, states: FloatArray) -> list[Finding]:
    findings = [_finding("ok", f"state layout: {len(task.layout.fields)} fields, {task.layout.dim} values")]
    for field in task.layout.fields:
        values = states[:, task.layout.slices[field.name]]
        low, high = float(values.min()), float(values.max())
        if not np.isfinite(values).all():
            findings.append(_finding("error", f"state field {field.name}: not every value is finite"))
        elif low == high:
            findings.append(
                _finding("warning", f"state field {field.name}: always {low:g} under random actions")
            )
        elif _outside(low, high, field.low, field.high):
            findings.append(
                _finding(
                    "warning",
                    f"state field {field.name}: {low:.3g} to {high:.3g}, not {field.low} to {field.high}",
                )
            )
    return findings


def _outside(low: float, high: float, declared_low: float | None, declared_high: float | None) -> bool:
    margin = 0.05 * (high - low)
    below = declared_low is not None and low < declared_low - margin
    return below or (declared_high is not None and high > declared_high + margin)


def _check_measures(trajectories: Sequence[Trajectory]) -> list[Finding]:
    findings = []
    for name in ("fitness", "progress"):
        values: list[Any] = [getattr(t, name) for t in trajectories]
        if values[0] is None:
            continue
        shown = f"{name}: {min(values):.3g} to {max(values):.3g} over random episodes"
        varies = max(values) > min(values)
        findings.append(_finding("ok" if varies or name == "fitness" else "warning", shown))
    if all(len({getattr(t, name) for t in trajectories}) == 1 for name in ("fitness", "progress")):
        findings.append(
            _finding(
                "warning",
                "neither fitness nor progress varies: no preference can be told from random episodes",
            )
        )
    return findings


def _same(a: Trajectory, b: Trajectory) -> bool:
    return bool(np.array_equal(a.state, b.state, equal_nan=True)) and a.fitness == b.fitness


def _finding(level: str, text: str) -> Finding:
    return {"level": level, "text": text}
