"""How far a drawer-open episode came. Runs in the trainer; reward code never sees it."""

import numpy as np

TRAVEL_M = 0.2


def progress(state):
    """Return 0 to 1: 25 % for bringing the hand to the handle, 75 % for opening the drawer."""
    hand_to_handle = np.linalg.norm(state.hand_pos - state.handle_pos, axis=-1)
    handle_to_goal = np.linalg.norm(state.handle_pos - state.goal_pos, axis=-1)
    reached = 1.0 - np.tanh(5.0 * hand_to_handle)
    opened = np.clip(1.0 - handle_to_goal / TRAVEL_M, 0.0, 1.0)
    return 0.25 * reached + 0.75 * opened
