"""A reward by hand: come to the target."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""
    distance = np.linalg.norm(next_state.hand_pos - next_state.goal_pos, axis=-1)
    reach = np.exp(-10.0 * distance)
    effort = -0.05 * np.sum(np.square(action), axis=-1)
    return reach + effort, {"reach": reach, "effort": effort}
