"""A reward by hand: come to the end of the handle, bring it to the goal."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""
    hand_to_thing = np.linalg.norm(next_state.hand_pos - next_state.handle_pos, axis=-1)
    thing_to_goal = np.linalg.norm(next_state.handle_pos - next_state.goal_pos, axis=-1)
    reach = 0.5 * (1.0 - np.tanh(5.0 * hand_to_thing))
    move = 2.0 * np.clip(1.0 - thing_to_goal / 0.096, 0.0, 1.0)
    there = 2.0 * (thing_to_goal < 0.02)
    return reach + move + there, {"reach": reach, "move": move, "there": there}
