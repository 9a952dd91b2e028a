"""Made-up trajectories for the tests of the stages."""

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.services.sandbox.base import RewardSpec
from rewardsmith.types import Trajectory, Transitions

LAYOUT = StateLayout((StateField(name="pos", shape=(2,)), StateField(name="speed")))
SPEC = RewardSpec(layout=LAYOUT, action=ActionSpec(dim=1), max_rows=256)


def trajectory(fitness=0.0, progress=None, *, length=3, first=0.0, terminated=False, **changes):
    """An episode whose states count upwards from `first`, so that every row is told apart."""
    settings = {"success": None, "success_last": None, "origin": "random"} | changes
    return Trajectory(
        state=first + np.arange(3.0 * (length + 1)).reshape(length + 1, 3),
        action=first + np.arange(float(length)).reshape(length, 1),
        terminated=terminated,
        fitness=fitness,
        progress=progress,
        **settings,
    )


def transitions(n, seed=0, terminated_every=8):
    rng = np.random.default_rng(seed)
    return Transitions(
        state=rng.normal(size=(n, 3)),
        action=rng.normal(size=(n, 1)),
        next_state=rng.normal(size=(n, 3)),
        terminated=np.arange(n) % terminated_every == 0,
    )
