"""A reward by hand: come down to the pad, slowly and upright."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""

    def potential(s):
        far = np.linalg.norm(s.position, axis=-1)
        fast = np.linalg.norm(s.velocity, axis=-1)
        legs = 0.1 * (s.left_leg_contact + s.right_leg_contact)
        return legs - far - fast - np.abs(s.angle)

    closer = potential(next_state) - potential(state)
    slow = np.linalg.norm(next_state.velocity, axis=-1) < 0.05
    legs = (next_state.left_leg_contact > 0.5) & (next_state.right_leg_contact > 0.5)
    landed = 1.0 * (slow & legs & (np.abs(next_state.position[:, 0]) < 0.2))
    crashed = -1.0 * (next_state.terminated & (landed < 0.5))
    fuel = np.where(action[:, 0] == 2, -0.003, 0.0)
    parts = {"closer": closer, "landed": landed, "crashed": crashed, "fuel": fuel}
    return closer + landed + crashed + fuel, parts
