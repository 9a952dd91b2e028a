"""Small pieces that the tests of the trainer share."""

import numpy as np

from rewardsmith.types import RewardAnswer, Transitions
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import STATE_KEY, EnvMaker
from rewardsmith.worker.trainer.training import Training

PENDULUM = {
    "env": {"id": "Pendulum-v1", "max_episode_steps": 20},
    "state": [{"name": "heading", "source": "obs[0:2]", "shape": [2]}, {"name": "speed", "source": "obs[2]"}],
    "success": None,
    "fitness": "return",
    "baselines": ["human", "zero"],
}
CART_POLE = {
    "env": {"id": "CartPole-v1", "max_episode_steps": 30},
    "state": [
        {"name": "cart", "source": "obs[0:2]", "shape": [2]},
        {"name": "pole", "source": "obs[2:4]", "shape": [2]},
    ],
    "success": None,
    "fitness": "return",
    "baselines": ["human", "zero"],
}


def rows(n, first=0.0, dim=2):
    """A batch whose every row is told apart."""
    state = first + np.arange(float(n * dim)).reshape(n, dim)
    return Transitions(
        state=state, action=np.zeros((n, 2)), next_state=state + 1.0, terminated=np.zeros(n, dtype=np.bool_)
    )


def box(batch):
    """A candidate that answers as the box does: a pure function of the rows."""
    place = batch.next_state[:, 0]
    return RewardAnswer(reward=2.0 * place, components={"place": place}, cpu_s=0.0)


class Recording:
    """A reward source that keeps what it was asked, and answers 1, 2, 3, ..."""

    def __init__(self):
        self.asked = []

    def __call__(self, batch, env_reward, told):
        self.asked.append((batch, env_reward.copy(), list(told)))
        return RewardAnswer(reward=np.full(len(batch), float(len(self.asked))), components={}, cpu_s=0.0)


def play(env, n_steps, seed=0):
    """The states and infos of some steps."""
    _, info = env.reset(seed=seed)
    states = [info[STATE_KEY]]
    infos = [info]
    for _ in range(n_steps):
        *_, info = env.step(np.zeros(env.action_space.shape, dtype=np.float32))
        states.append(info[STATE_KEY])
        infos.append(info)
    return np.array(states), infos


def training(task, source, **changes):
    settings = {
        "seed": 3,
        "judge_seeds": [101, 102],
        "total_timesteps": 64,
        "origin": "i01c00/train",
    } | changes
    return Training(EnvMaker(task), Measures(task), source, **settings)
