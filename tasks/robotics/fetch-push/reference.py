"""A reward by hand: come to the block, bring it to the goal."""

import numpy as np


def compute_reward(state, action, next_state):
    """Return the reward and its components."""
    hand_to_block = np.linalg.norm(next_state.hand_pos - next_state.block_pos, axis=-1)
    block_to_goal = np.linalg.norm(next_state.block_pos - next_state.goal_pos, axis=-1)
    reach = 0.5 * (1.0 - np.tanh(5.0 * hand_to_block))
    move = 2.0 * (1.0 - np.tanh(5.0 * block_to_goal))
    there = 1.0 * (block_to_goal < 0.05)
    return reach + move + there, {"reach": reach, "move": move, "there": there}
