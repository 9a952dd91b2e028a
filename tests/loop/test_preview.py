"""What a run would do at most, as `--dry-run` tells it."""

import pytest

from loop.tiny import tiny_config
from rewardsmith.config import TrainConfig
from rewardsmith.loop.preview import _halving, preview
from rewardsmith.loop.reporter import SilentReporter


@pytest.mark.parametrize(
    ("rungs", "survivors", "n", "expected"),
    [
        ((1.0,), 0.5, 4, (4.0, 8)),
        ((0.25, 0.5, 1.0), 0.5, 4, (2.0, 14)),
        ((0.5, 1.0), 1.0, 3, (3.0, 12)),
    ],
)
def test_halving_takes_less_than_training_all(rungs, survivors, n, expected):
    train = TrainConfig(rungs=rungs, survivors=survivors, budget=1.0, checkpoints_per_rung=2)
    assert _halving(train, n) == expected


@pytest.mark.slow
def test_a_run_without_iterations_trains_its_baselines_alone():
    config = tiny_config("stop.iterations=0", "final.seeds=2")
    found = preview(config, SilentReporter())
    assert found.request is None
    assert (found.plan["trainings"], found.plan["training_steps"]) == (8, 8 * 512)
    assert found.plan["judging_steps"] == 8 * 2 * 40


@pytest.mark.slow
def test_the_plan_counts_search_confirmation_and_comparison():
    found = preview(tiny_config(), SilentReporter())
    # Two iterations of three, halved once; two confirmed in each; five arms with two seeds.
    assert found.plan["trainings"] == 2 * 3 + 2 * 2 + 5 * 2
    budget = tiny_config().method.train.budget
    search = round(2 * (3 * 0.5 + 2 * 0.5) * budget * 512)
    assert found.plan["training_steps"] == search + (2 * 2 + 5 * 2) * 512
