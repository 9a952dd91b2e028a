"""A controller that solves the pendulum, for stores that are to hold more than random episodes."""

import numpy as np

GRAVITY_TERM = 15.0
"""3 g / (2 l) of the environment's equation of motion."""
UPRIGHT_COSINE = 0.85


def make(env):
    """Return the policy `act(observation)`: pump energy up to that of standing upright, then hold."""

    def act(observation):
        cosine, sine, velocity = map(float, observation)
        if cosine > UPRIGHT_COSINE:
            torque = -12.0 * np.arctan2(sine, cosine) - 3.0 * velocity
        else:
            missing = GRAVITY_TERM * (1.0 - cosine) - 0.5 * velocity**2
            torque = missing * np.sign(velocity or 1.0)
        return np.clip([torque], -2.0, 2.0).astype(np.float32)

    return act
