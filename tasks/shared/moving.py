"""How far a hand came that brings something to a goal. Runs in the trainer; reward code never sees it."""

import numpy as np

HAND = "hand_pos"


def progress(state, thing, travel_m, within_m=0.0):
    """Return 0 to 1: 25 % for bringing the hand to a thing, 75 % for bringing the thing to the goal.

    Args:
        state: named arrays, `hand_pos` and `goal_pos` among them.
        thing: name of the field with the position of what is to be moved; where it is the hand, its way
            counts for all.
        travel_m: how far it is from the goal at first.
        within_m: how far it may be from the goal when the task is done.
    """
    position = getattr(state, thing)
    thing_to_goal = np.linalg.norm(position - state.goal_pos, axis=-1)
    moved = np.clip((travel_m - thing_to_goal) / (travel_m - within_m), 0.0, 1.0)
    if thing == HAND:
        return moved
    hand_to_thing = np.linalg.norm(state.hand_pos - position, axis=-1)
    return 0.25 * (1.0 - np.tanh(5.0 * hand_to_thing)) + 0.75 * moved
