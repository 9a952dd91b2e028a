"""A reward by hand: get the torso up."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""
    height = next_state.height / 1.3
    rise = np.clip(next_state.velocity[:, 2], -1.0, 1.0)
    effort = -0.1 * np.mean(np.square(action), axis=-1)
    return height + rise + effort, {"height": height, "rise": rise, "effort": effort}
