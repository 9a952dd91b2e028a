"""Meta-World environments with a goal that is observed, random, and reproducible from the reset's seed.

Meta-World 3 ignores `reset(seed=...)` and draws a goal from 50 tasks that were fixed when it was made.
"""

import gymnasium as gym
import mujoco
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv

CAMERA = {"lookat": np.array([0.0, 0.7, 0.2]), "distance": 1.4, "azimuth": 155.0, "elevation": -30.0}
"""A view of the table; of Meta-World's own, the near ones hang upside down and the other is far away."""


PLACED_BY_THE_LAST_EPISODE = (
    "box-close-v3",
    "disassemble-v3",
    "door-lock-v3",
    "door-unlock-v3",
    "handle-press-v3",
    "handle-pull-v3",
)
"""Environments that read where a thing is before they have moved it there; a second reset to the same goal
reads it where it belongs."""


class MetaWorld(gym.Wrapper):
    """Makes `reset` obey its seed and observe the new episode, and repeats actions at little cost.

    ## Observation space

    | Num   | Observation                                                     | Unit         |
    | ----- | --------------------------------------------------------------- | ------------ |
    | 0     | x position of the hand                                          | position (m) |
    | 1     | y position of the hand                                          | position (m) |
    | 2     | z position of the hand                                          | position (m) |
    | 3     | opening of the gripper, 1 is fully open                         | -            |
    | 4     | x position of the object                                        | position (m) |
    | 5     | y position of the object                                        | position (m) |
    | 6     | z position of the object                                        | position (m) |
    | 7-10  | quaternion of the object                                        | -            |
    | 11    | x position of the second object, 0 where there is none          | position (m) |
    | 12    | y position of the second object, 0 where there is none          | position (m) |
    | 13    | z position of the second object, 0 where there is none          | position (m) |
    | 14-17 | quaternion of the second object, 0 where there is none          | -            |
    | 18-35 | the first 18 numbers as they were one simulation step before    | -            |
    | 36    | x position of the goal, fixed within an episode                 | position (m) |
    | 37    | y position of the goal, fixed within an episode                 | position (m) |
    | 38    | z position of the goal, fixed within an episode                 | position (m) |
    """

    def __init__(self, env, name):
        super().__init__(env)
        self.name = name

    def reset(self, *, seed=None, options=None):
        """Draw a new goal and start an episode."""
        env = self.unwrapped
        if seed is not None:
            env.seed(seed)
        env.curr_path_length = 0
        # Meta-World's own reset plays the hand's way to its start twice, and draws the goal twice.
        _, info = MujocoEnv.reset(env, options=options)
        if self.name in PLACED_BY_THE_LAST_EPISODE:
            env._freeze_rand_vec = True
            _, info = MujocoEnv.reset(env, options=options)
            env._freeze_rand_vec = False
        # Meta-World moves the object after its last forward pass, and observes it where it was before.
        mujoco.mj_forward(env.model, env.data)
        # An observation holds the last one too, which is not to be one of another episode.
        env._get_obs()
        return env._get_obs(), info

    def step_repeated(self, action, n_steps):
        """Keep an action for `n_steps` simulation steps; only the last one is observed and rewarded."""
        env = self.unwrapped
        for _ in range(n_steps - 1):
            env.set_xyz_action(action[:3])
            env.do_simulation([action[-1], -action[-1]], n_frames=env.frame_skip)
            env.curr_path_length += 1
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, n_steps * reward, terminated, truncated, info


def make(env_name, render_mode=None):
    """Make the Meta-World environment `env_name`, such as `drawer-open-v3`."""
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS

    env = ALL_V3_ENVIRONMENTS[env_name](render_mode=render_mode)
    env.mujoco_renderer.default_cam_config = CAMERA
    env._partially_observable = False
    # Observations are clipped to this cached space, which still hides the goal.
    env.__dict__.pop("sawyer_observation_space", None)
    env.observation_space = env.sawyer_observation_space
    env._freeze_rand_vec = False
    env.seeded_rand_vec = True
    env._set_task_called = True
    return MetaWorld(env, env_name)
