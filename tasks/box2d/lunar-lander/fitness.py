"""How a landing is measured. Runs in the trainer; reward code never sees it."""

import numpy as np

PAD_HALF_WIDTH = 0.2
AT_REST = 0.05


def success(state):
    """Return for each state whether the lander is at rest on both legs between the flags."""
    on_both_legs = (state.left_leg_contact > 0.5) & (state.right_leg_contact > 0.5)
    between = np.abs(state.position[:, 0]) < PAD_HALF_WIDTH
    return on_both_legs & between & (np.linalg.norm(state.velocity, axis=-1) < AT_REST)


def progress(state):
    """Return 0 to 1: half for being near the pad, the rest for being slow, upright, and on the legs."""
    near = 1.0 - np.tanh(np.linalg.norm(state.position, axis=-1))
    slow = 1.0 - np.tanh(np.linalg.norm(state.velocity, axis=-1))
    upright = 1.0 - np.tanh(np.abs(state.angle))
    legs = 0.5 * (state.left_leg_contact + state.right_leg_contact)
    return 0.5 * near + 0.2 * slow + 0.1 * upright + 0.2 * legs
