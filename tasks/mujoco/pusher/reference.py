"""A reward by hand: come to the cylinder, bring it to the goal."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""
    near = np.exp(-3.0 * np.linalg.norm(next_state.hand_pos - next_state.cylinder_pos, axis=-1))
    there = np.exp(-5.0 * np.linalg.norm(next_state.cylinder_pos - next_state.goal_pos, axis=-1))
    effort = -0.01 * np.sum(np.square(action), axis=-1)
    return near + 3.0 * there + effort, {"near": near, "there": there, "effort": effort}
