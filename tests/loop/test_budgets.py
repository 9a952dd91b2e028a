"""A run that meets a budget ends well, with the best so far."""

import pytest

from loop.tiny import ListReporter, tiny_config
from rewardsmith.config import BudgetConfig
from rewardsmith.loop.run import REWARD_FILE, execute
from rewardsmith.services.journal.folder import RunFolder

pytestmark = pytest.mark.slow


def run_with(tmp_path, **limits):
    config = tiny_config(budget=BudgetConfig(**limits))
    folder = RunFolder.create(tmp_path, "run", config.model_dump(mode="json"))
    return folder, execute(folder, ListReporter())


def test_environment_steps_are_never_overdrawn(tmp_path):
    folder, result = run_with(tmp_path, max_env_steps=2000)
    assert result["totals"]["env_steps"] <= 2000
    assert result["ended"].startswith("budget: max_env_steps is 2000")
    assert result["winner"] is not None
    assert (folder.path / REWARD_FILE).is_file()
    assert "budget" in result["final"]["note"]


def test_trainings_are_never_overdrawn(tmp_path):
    _, result = run_with(tmp_path, max_trainings=4)
    assert result["totals"]["trainings"] <= 4
    assert result["winner"] is not None


def test_a_run_without_any_room_ends_without_a_winner(tmp_path):
    _, result = run_with(tmp_path, max_env_steps=1)
    assert result["winner"] is None
    assert result["final"] is None
    assert result["totals"]["env_steps"] == 0


def test_no_time_at_all_ends_before_the_first_iteration(tmp_path):
    folder, result = run_with(tmp_path, max_wall_s=0)
    assert result["iterations"] == 1
    assert result["winner"] is None
    assert "max_wall_s" in result["ended"]
    again = execute(folder, ListReporter())
    assert again == result
