"""A reward that a person wrote: checked, and trained beside the baselines."""

import json

import pytest
from cli_process import TINY
from test_cli_commands import invoke, refused

pytestmark = pytest.mark.slow

GOOD = """
import numpy as np


def compute_reward(state, action, next_state):
    upright = next_state.heading[:, 0]
    idle = 0.0 * upright
    return upright + idle, {"upright": upright, "idle": idle}
"""
BAD = GOOD.replace("upright = next_state.heading[:, 0]", "upright = next_state.height[:, 0]")
TURNED_ROUND = GOOD.replace("upright = next_state.heading[:, 0]", "upright = -next_state.heading[:, 0]")
SETTINGS = tuple(part for key in TINY if key.startswith("task.") for part in ("-s", key))


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def check(tmp_path, code, *args):
    (tmp_path / "mine.py").write_text(code)
    return invoke("reward", "check", "mine.py", "--task", "pendulum", "--sandbox", "local", *args)


def test_a_good_reward_passes_and_is_looked_at(tmp_path):
    found = check(tmp_path, GOOD, "--json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["passed"]
    assert document["preference"] > 0.8
    assert document["rank_correlation"] > 0.5
    assert document["components"]["upright"]["max"] <= 1.0
    assert document["components"]["idle"]["remarks"] == ["constant in these rollouts"]
    assert not (tmp_path / "runs").exists(), "a check leaves nothing behind"


def test_a_check_says_it_in_words_too(tmp_path):
    text = check(tmp_path, GOOD).stdout
    assert "mine.py: passed validation on classic/pendulum" in text
    assert "constant in these rollouts" in text


def test_a_reward_that_pays_failures_is_told_so(tmp_path):
    found = check(tmp_path, TURNED_ROUND)
    assert found.exit_code == 0, "it is a valid reward all the same"
    assert "a search would not train it" in found.stdout


def test_a_reward_that_fails_is_turned_down_with_the_reason(tmp_path):
    found = check(tmp_path, BAD)
    assert found.exit_code == 2
    assert "mine.py: turned down: " in found.stdout
    assert "height" in found.stdout
    document = json.loads(check(tmp_path, BAD, "--json").stdout)
    assert (document["passed"], document["failure"]) == (False, "raised")


def test_a_reward_is_trained_beside_the_baselines_and_can_be_exported(tmp_path):
    (tmp_path / "mine.py").write_text(GOOD)
    args = ("--task", "pendulum", "--seeds", "1", "--sandbox", "local", "--name", "by-hand", *SETTINGS)
    done = invoke("reward", "train", "mine.py", *args, "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert set(result["final"]["arms"]) == {"winner", "human", "sparse", "zero", "progress"}
    assert (result["winner"]["origin"], result["winner"]["fitness"]) == ("mine.py", None)
    assert "Reward: mine.py" in invoke("runs", "show", "by-hand").stdout
    exported = invoke("reward", "export", "by-hand").stdout
    assert "Given as mine.py to run by-hand" in exported
    assert "next_state.heading[:, 0]" in exported
    again = invoke("resume", "by-hand", "--json")
    assert json.loads(again.stdout)["final"] == result["final"]


def test_a_reward_that_fails_is_not_trained_and_neither_is_a_baseline(tmp_path):
    (tmp_path / "mine.py").write_text(BAD)
    args = ("--task", "pendulum", "--seeds", "1", "--sandbox", "local", *SETTINGS)
    done = invoke("reward", "train", "mine.py", *args)
    assert done.exit_code == 2
    assert "No winner: the reward was turned down" in done.stdout
    assert "0 trainings" in done.stdout


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("gone.py", None, "gone.py: cannot be read"),
        ("odd.py", b"\xff\xfe", "odd.py: not a UTF-8 text file"),
        ("exported.py", b"class RewardWrapper(gymnasium.Wrapper): ...", "give compute_reward alone"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path, file, content, reason):
    if content is not None:
        (tmp_path / file).write_bytes(content)
    for command in ("check", "train"):
        assert reason in refused("reward", command, file, "--task", "pendulum")
