"""Meta-World environments with a goal that is observed, random, and reproducible from the reset's seed.

Meta-World 3 ignores `reset(seed=...)` and draws a goal from 50 tasks that were fixed when it was made.
"""

import gymnasium as gym


class SeededReset(gym.Wrapper):
    """Passes the seed of `reset` on to Meta-World's own `seed` method."""

    def reset(self, *, seed=None, options=None):
        """Draw a new goal and start an episode."""
        if seed is not None:
            self.unwrapped.seed(seed)
        return self.env.reset(options=options)


def make(env_name, render_mode=None):
    """Make the Meta-World environment `env_name`, such as `drawer-open-v3`."""
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS

    env = ALL_V3_ENVIRONMENTS[env_name](render_mode=render_mode)
    env._partially_observable = False
    env._freeze_rand_vec = False
    env.seeded_rand_vec = True
    env._set_task_called = True
    return SeededReset(env)
