"""How far a robot has run. Runs in the trainer; reward code never sees it."""

import numpy as np


def fitness(episode):
    """Return the metres between where the robot started and where the episode ended."""
    return float(episode.state.x_position[-1] - episode.state.x_position[0])


def success(state, goal_m):
    """Return for each state whether the robot is beyond the goal line."""
    return state.x_position >= goal_m


def progress(state, goal_m):
    """Return how much of the way to the goal line is done."""
    return np.clip(state.x_position / goal_m, 0.0, 1.0)
