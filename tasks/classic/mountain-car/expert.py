"""A controller that solves the mountain car, for stores that are to hold more than random episodes."""

import numpy as np


def make(env):
    """Return the policy `act(observation)`: push the way the car moves, so that each swing is higher."""
    return lambda observation: np.array([1.0 if observation[1] >= 0.0 else -1.0], dtype=np.float32)
