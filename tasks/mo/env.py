"""MO-Gymnasium environments, whose reward is a vector: one number for each objective."""

import gymnasium as gym
import numpy as np


class Weighted(gym.Wrapper):
    """Rewards the weighted sum of the objectives, and tells them apart in `info["objectives"]`."""

    def __init__(self, env, weights):
        super().__init__(env)
        self.weights = np.asarray(weights, dtype=np.float64)

    def step(self, action):
        """Step, and make one number of the vector."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        objectives = np.asarray(reward, dtype=np.float64)
        return obs, float(self.weights @ objectives), terminated, truncated, info | {"objectives": objectives}


def make(env_id, weights, render_mode=None):
    """Make the MO-Gymnasium environment `env_id`; `weights` has one number for each objective."""
    import mo_gymnasium

    return Weighted(mo_gymnasium.make(env_id, render_mode=render_mode), weights)
