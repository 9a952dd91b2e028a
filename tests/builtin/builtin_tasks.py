"""Briefs of made-up tasks, and a way to run rendered sources, for the tests of the built-in coder."""

import math
from types import SimpleNamespace

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.services.models.base import CandidateRecord, ProposeRequest, TaskBrief


def _brief(name, goal, fields, action, ranges):
    return TaskBrief(name=name, goal=goal, layout=StateLayout(fields), action=action, ranges=ranges)


PENDULUM = _brief(
    "toy/pendulum",
    "Hold the pole upright.",
    (
        StateField(name="pole", shape=(2,), kind="orientation", low=-1.0, high=1.0, doc="cos and sin"),
        StateField(name="pole_speed", kind="velocity", unit="rad/s", low=-8.0, high=8.0),
    ),
    ActionSpec(dim=1, low=(-2.0,), high=(2.0,)),
    {"pole": (-1.0, 1.0), "pole_speed": (-6.5, 7.0)},
)
MANIPULATION = _brief(
    "toy/drawer",
    "Open the drawer.",
    (
        StateField(name="hand_pos", shape=(3,), kind="position", unit="m"),
        StateField(name="gripper", low=0.0, high=1.0),
        StateField(name="drawer_pos", shape=(3,), kind="position", unit="m"),
        StateField(name="goal_pos", shape=(3,), kind="position", unit="m", doc="where it should end"),
    ),
    ActionSpec(dim=4, low=(-1.0,) * 4, high=(1.0,) * 4),
    {"hand_pos": (-0.5, 0.9), "gripper": (0.0, 1.0), "drawer_pos": (-0.1, 0.7), "goal_pos": (0.5, 0.5)},
)
HOPPER = _brief(
    "toy/hopper",
    "Move forward.",
    (
        StateField(name="x", kind="position", unit="m"),
        StateField(name="height", kind="position", unit="m", low=0.0),
        StateField(name="torso_angle", kind="angle", unit="rad", low=-math.pi, high=math.pi),
        *(StateField(name=f"joint{i}_angle", kind="angle", unit="rad") for i in range(3)),
        StateField(name="velocity", shape=(2,), kind="velocity", unit="m/s"),
        StateField(name="joint_velocity", shape=(3,), kind="velocity", unit="rad/s", low=-10.0, high=10.0),
        StateField(name="foot_contact", kind="flag"),
    ),
    ActionSpec(dim=3),
    {"x": (0.0, 2.0), "height": (0.7, 1.3), "velocity": (-2.0, 1.5)},
)
LANDER = _brief(
    "toy/lander",
    "Land between the flags.",
    (
        StateField(name="lambda_", shape=(2,), kind="position", high=1.5, doc="a name close to a keyword"),
        StateField(name="x_target_", shape=(2,), kind="position"),
        StateField(name="a_name_that_is_a_good_deal_longer_than_a_component_may_be", unit="kg"),
        StateField(name="another_name_that_is_much_longer_than_a_component", unit="kg"),
        StateField(name="markers", shape=(2, 2), kind="position"),
        StateField(name="empty", shape=(0,)),
    ),
    ActionSpec(dim=1, discrete=True, low=(0.0,), high=(3.0,)),
    {"lambda_": (-1.0, 1.0), "markers": (3.0, 3.0)},
)
SWITCHES = _brief(
    "toy/switches",
    "Set the level.",
    (StateField(name="level", low=0.0, high=9.0), StateField(name="goal_level", low=0.0, high=9.0)),
    ActionSpec(dim=2, discrete=True, low=(0.0, 0.0), high=(1.0, 4.0)),
    {"level": (0.0, 9.0)},
)
BRIEFS = {brief.name: brief for brief in (PENDULUM, MANIPULATION, HOPPER, LANDER, SWITCHES)}


def request(brief, n=50, seed=0, history=(), iteration=1):
    return ProposeRequest(brief=brief, n=n, seed=seed, iteration=iteration, history=tuple(history))


def record(id_, proposal, **results):
    return CandidateRecord(id=id_, source=proposal.source, genome=proposal.genome, **results)


def compile_reward(source):
    namespace = {"np": np, "math": math}
    exec(compile(source, "reward.py", "exec"), namespace)
    return namespace["compute_reward"]


def states(brief, rng, n, scale=1.0):
    return rng.normal(scale=scale, size=(n, brief.layout.dim))


def actions(brief, rng, n, scale=1.0):
    if brief.action.discrete:
        return rng.integers(0, np.array(brief.action.high or [3.0]) + 1, size=(n, brief.action.dim))
    return rng.normal(scale=scale, size=(n, brief.action.dim))


def call(reward, brief, state, action, next_state, terminated):
    def named(batch, ended):
        return SimpleNamespace(**brief.layout.view(batch), terminated=ended)

    return reward(named(state, np.zeros(len(state), bool)), action, named(next_state, terminated))
