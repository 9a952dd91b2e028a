"""How far a plate-slide episode came. Runs in the trainer; reward code never sees it."""

import numpy as np

TRAVEL_M = 0.3


def progress(state):
    """Return 0 to 1: 25 % for bringing the hand to the puck, 75 % for sliding the puck to the goal."""
    hand_to_puck = np.linalg.norm(state.hand_pos - state.puck_pos, axis=-1)
    puck_to_goal = np.linalg.norm(state.puck_pos - state.goal_pos, axis=-1)
    reached = 1.0 - np.tanh(5.0 * hand_to_puck)
    moved = np.clip(1.0 - puck_to_goal / TRAVEL_M, 0.0, 1.0)
    return 0.25 * reached + 0.75 * moved
