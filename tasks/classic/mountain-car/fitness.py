"""How a mountain-car episode is measured. Runs in the trainer; reward code never sees it."""

import numpy as np

FLAG_POSITION = 0.45
GRAVITY = 0.0025
"""In units of the environment's own equation: the velocity falls by `GRAVITY * cos(3 * position)` a step."""


def success(state):
    """Return for each state whether the car has reached the flag."""
    return state.position >= FLAG_POSITION


def progress(state):
    """Return the car's mechanical energy: 0 at rest in the valley, 1 where it suffices for the flag."""
    energy = 0.5 * state.velocity**2 + GRAVITY / 3.0 * np.sin(3.0 * state.position)
    lowest, wanted = -GRAVITY / 3.0, GRAVITY / 3.0 * np.sin(3.0 * FLAG_POSITION)
    return np.where(success(state), 1.0, np.clip((energy - lowest) / (wanted - lowest), 0.0, 1.0))
