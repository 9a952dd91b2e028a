"""A reward by hand: lift the free end, and be done soon."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""
    cosine, sine = next_state.shoulder[:, 0], next_state.shoulder[:, 1]
    both = cosine * next_state.elbow[:, 0] - sine * next_state.elbow[:, 1]
    height = 0.25 * (-cosine - both)
    done = np.where(next_state.terminated, 10.0, 0.0)
    return height + done, {"height": height, "done": done}
