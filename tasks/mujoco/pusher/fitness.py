"""How a pusher episode is measured. Runs in the trainer; reward code never sees it."""

import numpy as np


def success(state):
    """Return for each state whether the cylinder is within 10 cm of the goal."""
    return np.linalg.norm(state.cylinder_pos[:, :2] - state.goal_pos[:, :2], axis=-1) < 0.1
