"""A reward by hand: upright, slow, with little torque."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""
    upright = next_state.heading[:, 0]
    slow = -0.1 * np.square(next_state.angular_velocity / 8.0)
    effort = -0.001 * np.sum(np.square(action), axis=-1)
    return upright + slow + effort, {"upright": upright, "slow": slow, "effort": effort}
