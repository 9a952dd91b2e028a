"""How an acrobot episode is measured. Runs in the trainer; reward code never sees it."""

import numpy as np

GOAL_HEIGHT = 1.0
"""Of the free end above the fixed one, in link lengths."""


def height(state):
    """Return the height of the free end above the fixed one, from -2 hanging to 2 upright."""
    cosine, sine = state.shoulder[:, 0], state.shoulder[:, 1]
    cosine_of_both = cosine * state.elbow[:, 0] - sine * state.elbow[:, 1]
    return -cosine - cosine_of_both


def success(state):
    """Return for each state whether the free end is above the goal height."""
    return height(state) > GOAL_HEIGHT


def progress(state):
    """Return how much of the way from hanging to the goal height the free end has made."""
    return np.clip((height(state) + 2.0) / (GOAL_HEIGHT + 2.0), 0.0, 1.0)
