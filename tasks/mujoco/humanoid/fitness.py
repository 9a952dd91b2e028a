"""How a stand-up episode is measured. Runs in the trainer; reward code never sees it."""

import numpy as np

STANDING_M = 1.0
UPRIGHT_M = 1.3


def success(state):
    """Return for each state whether the torso is as high as when standing with bent knees."""
    return state.height > STANDING_M


def progress(state):
    """Return the height of the torso: 0 on the ground, 1 when standing."""
    return np.clip(state.height / UPRIGHT_M, 0.0, 1.0)


def fitness(episode):
    """Return the mean height of the torso over the last third of the episode, in metres."""
    return float(np.mean(episode.state.height[-(len(episode.state.height) // 3) :]))
