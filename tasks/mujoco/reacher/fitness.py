"""How a reacher episode is measured. Runs in the trainer; reward code never sees it."""

import numpy as np


def success(state):
    """Return for each state whether the tip is within 3 cm of the target."""
    return np.linalg.norm(state.hand_pos - state.goal_pos, axis=-1) < 0.03
