"""How a pendulum episode is measured. Runs in the trainer; reward code never sees it."""

import numpy as np

UPRIGHT_COSINE = 0.95


def success(state):
    """Return for each state whether the pendulum stands within 18 degrees of upright."""
    return state.heading[:, 0] > UPRIGHT_COSINE


def progress(state):
    """Return the height of the tip: 0 hanging, 1 upright."""
    return (1.0 + state.heading[:, 0]) / 2.0


def fitness(episode):
    """Return the share of the last half of the steps that end upright."""
    return float(np.mean(episode.success[len(episode.success) // 2 :]))
