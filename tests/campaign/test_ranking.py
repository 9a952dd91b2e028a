"""What a ranking is worth: the four that are ranked first, trained, and counted."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from cli.cli_process import environment
from rewardsmith.campaign import ranking
from rewardsmith.campaign.ranking import RULES, STORES, rank_rows, ranking_variants
from rewardsmith.loop.records import IterationRecord, TrainedRecord


def test_there_is_a_variant_for_each_store_and_rule_and_settings_of_ones_own_count_more():
    variants = ranking_variants(settings=["train.keep=2"])
    assert [v.label for v in variants] == [f"{store}/{rule}" for store in STORES for rule in RULES]
    keep = [setting for setting in variants[0].settings if setting.startswith("train.keep=")]
    assert keep[-1] == "train.keep=2"
    assert "store.expert_episodes=60" in variants[-1].settings


def trained(*fitness):
    return TrainedRecord(
        id="i01c00",
        preference=0.9,
        checkpoints=tuple({"step": i, "fitness": value} for i, value in enumerate(fitness)),
    )


def test_those_that_succeed_are_counted_at_either_checkpoint(monkeypatch):
    runs = {
        "a": [trained(0.95, 0.4), trained(0.2, 0.9)],
        "b": [trained(0.1, 0.2), trained()],
    }
    monkeypatch.setattr(
        ranking,
        "read_run",
        lambda name: SimpleNamespace(
            iterations=[IterationRecord(number=1, trained=tuple(runs[name]), undetermined=name == "b")]
        ),
    )
    cell = SimpleNamespace(task="t", label="random/pairwise")
    outcomes = [SimpleNamespace(cell=cell, folder=name, result={}) for name in runs]
    outcomes.append(SimpleNamespace(cell=cell, folder="c", result=None))
    (row,) = rank_rows(outcomes, 0.9)
    assert (row.trained, row.solved, row.solved_half) == (3, 2, 1)
    assert row.fitness == pytest.approx((0.95 + 0.9 + 0.2) / 3)
    assert (row.runs, row.undetermined) == (2, 1)


@pytest.mark.slow
def test_rules_are_compared_from_the_command_line(tmp_path):
    tiny = (
        "propose.candidates=30",
        "store.episodes=12",
        "store.expert_episodes=0",
        "train.keep=2",
        "task.training.total_timesteps=1024",
        "task.judge.episodes=2",
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "rewardsmith", "bench", "ranking", "--task", "classic/mountain-car"),
            *("--rule", "pairwise", "--seeds", "1", "--sandbox", "local", "--json"),
            *(part for key in tiny for part in ("-s", key)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["store"], row["rule"], row["trained"]) for row in rows] == [
        ("random", "pairwise", 2),
        ("expert", "pairwise", 2),
    ]


def test_a_rule_that_does_not_exist_is_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rewardsmith", "bench", "ranking", "--rule", "best"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    rules = "pairwise, success, card_paper, card_code, none"
    assert done.stderr == f"error: --rule best: it is none of {rules}\n"
