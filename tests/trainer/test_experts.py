"""Experts of tasks: what they do, and stores of every quality that are made with them."""

import numpy as np
import pytest

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.catalog import load_task, missing_extras
from rewardsmith.trajectories import load_trajectories
from rewardsmith.worker.trainer.episodes import MixedActor, NoiseActor, play_episodes
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import EnvMaker
from shipped_tasks import SOME_OF_EACH_SUITE
from trainer.test_jobs import run

WITH_EXPERT = [name for name in SOME_OF_EACH_SUITE if load_task(name).file.expert is not None]
N_EPISODES = 8

EXPERT = """
import numpy as np


def make(env):
    assert env.action_space.shape == (2,)
    return lambda observation: np.full(2, 0.25, dtype=np.float32)
"""


def played(task, seeds, act_of):
    maker, measures = EnvMaker(task), Measures(task)
    envs = [maker.make() for _ in range(4)]
    return play_episodes(envs, seeds, act_of(maker, envs[0]), measures, "expert")


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_EXPERT)
def test_an_expert_solves_its_task(name):
    task = load_task(name)
    if missing_extras(task):
        pytest.skip(f"needs the extra {', '.join(missing_extras(task))}")
    seeds = list(range(N_EPISODES))

    def alone(maker, env):
        expert = maker.expert()
        return lambda observations, episodes: [expert(obs) for obs in observations]

    fitness = [t.fitness for t in played(task, seeds, alone)]
    assert np.mean(fitness) >= 0.6


@pytest.mark.slow
def test_mixed_episodes_are_of_every_quality_and_depend_on_their_seeds_alone():
    task, seeds = load_task("classic/pendulum"), list(range(40))

    def mixed(maker, env):
        return MixedActor(maker.expert(), NoiseActor(env.action_space, seeds), seeds, 200)

    episodes, again = played(task, seeds, mixed), played(task, seeds, mixed)
    progress = np.array([t.progress for t in episodes])
    assert progress.min() < 0.4
    assert progress.max() > 0.85
    assert [t.progress for t in again] == progress.tolist()


def test_a_store_holds_random_episodes_and_then_the_experts(toy_task, tmp_path):
    task = toy_task({"expert": "expert.py:make"}, {"expert.py": EXPERT})
    file = tmp_path / "store.npz"
    job = {"kind": "store", "seeds": [1, 2], "expert_seeds": [3, 4, 5], "out_file": str(file)}
    message, _ = run(task, job)
    stored = load_trajectories(file.read_bytes())
    assert [t.origin for t in stored] == ["random"] * 2 + ["expert"] * 3
    assert message["env_steps"] == sum(map(len, stored))


def test_a_task_without_an_expert_says_so(toy_task):
    with pytest.raises(TaskError, match="it has no expert; name one by the key 'expert'"):
        EnvMaker(toy_task()).expert()


def test_an_expert_that_cannot_be_made_is_told_with_its_reason(toy_task):
    task = toy_task({"expert": "expert.py:make"}, {"expert.py": "def make(env):\n    return 1 / 0\n"})
    with pytest.raises(TaskError, match=r"the expert cannot be made \(ZeroDivisionError: division by zero\)"):
        EnvMaker(task).expert()
