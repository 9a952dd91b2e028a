"""How environments are made: repeated actions, and the Python files of a task."""

import gymnasium as gym
import numpy as np
import pytest

from rewardsmith.errors import TaskError
from rewardsmith.worker.trainer.making import ActionRepeat, import_task_file


def test_an_action_repeated_stops_at_a_truncation():
    env = ActionRepeat(gym.make("Pendulum-v1", max_episode_steps=3), 2)
    env.reset(seed=0)
    assert [env.step(np.zeros(1))[3] for _ in range(2)] == [False, True]


def test_a_task_file_may_define_dataclasses(tmp_path):
    path = tmp_path / "fitness.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n\n"
        "@dataclass\nclass Weights:\n    near: float = 2.0\n"
    )
    assert import_task_file(path).Weights().near == 2.0


def test_files_of_one_name_in_two_tasks_stay_apart(tmp_path):
    modules = []
    for folder in ("walk", "run"):
        path = tmp_path / folder / "fitness.py"
        path.parent.mkdir()
        path.write_text(f"NAME = {folder!r}\n")
        modules.append(import_task_file(path))
    assert [module.NAME for module in modules] == ["walk", "run"]


def test_a_task_file_must_be_python(tmp_path):
    (tmp_path / "fitness.txt").touch()
    with pytest.raises(TaskError, match=r"fitness\.txt: not a Python file"):
        import_task_file(tmp_path / "fitness.txt")
