"""Meta-World environments with a goal that is observed, random, and reproducible from the reset's seed.

Meta-World 3 ignores `reset(seed=...)` and draws a goal from 50 tasks that were fixed when it was made.
"""

import gymnasium as gym
import mujoco


class SeededReset(gym.Wrapper):
    """Makes `reset` obey its seed, and observe the new episode rather than remains of the last one."""

    def reset(self, *, seed=None, options=None):
        """Draw a new goal and start an episode."""
        env = self.unwrapped
        if seed is not None:
            env.seed(seed)
        _, info = self.env.reset(options=options)
        # Meta-World moves the object after its last forward pass, and observes it where it was before.
        mujoco.mj_forward(env.model, env.data)
        env._get_obs()
        return env._get_obs(), info


def make(env_name, render_mode=None):
    """Make the Meta-World environment `env_name`, such as `drawer-open-v3`."""
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS

    env = ALL_V3_ENVIRONMENTS[env_name](render_mode=render_mode)
    env._partially_observable = False
    # Observations are clipped to this cached space, which still hides the goal.
    env.__dict__.pop("sawyer_observation_space", None)
    env.observation_space = env.sawyer_observation_space
    env._freeze_rand_vec = False
    env.seeded_rand_vec = True
    env._set_task_called = True
    return SeededReset(env)
