"""A reward by hand: gain mechanical energy, reach the flag."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""

    def energy(s):
        return 0.5 * np.square(s.velocity) + 0.0025 / 3.0 * np.sin(3.0 * s.position)

    gain = 1000.0 * (energy(next_state) - energy(state))
    flag = np.where(next_state.position >= 0.45, 1.0, 0.0)
    return gain + flag, {"gain": gain, "flag": flag}
