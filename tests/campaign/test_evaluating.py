"""A judge's choice between two episodes: how pairs are chosen, what is counted, and the whole command."""

import json
import re
import statistics
import subprocess
import sys

import pytest

from chat_server import ChatServer
from cli.cli_process import environment
from loop.scripted import RUBRIC
from rewardsmith.campaign.evaluating import PairVerdict, choose_pairs, report_of
from rewardsmith.stages.store import TrajectoryStore
from stages.made_up import trajectory


def verdict(*right, is_fitness=True):
    return PairVerdict(better=0, worse=1, is_fitness=is_fitness, gap=0.5, right=right)


def report(*verdicts):
    return report_of(verdicts, task="t", model="m", tokens=5, usd=None)


def test_a_judge_that_is_always_right_has_no_bias():
    found = report(verdict(True, True), verdict(True, True, is_fitness=False))
    assert (found.accuracy, found.consistency, found.first_share) == (1.0, 1.0, 0.5)
    assert (found.accuracy_by_fitness, found.accuracy_by_progress) == (1.0, 1.0)


def test_a_judge_that_likes_what_stands_first_is_right_half_the_time_and_never_consistent():
    found = report(verdict(True, False), verdict(True, False))
    assert (found.accuracy, found.consistency, found.first_share) == (0.5, 0.0, 1.0)


def test_a_judge_that_is_always_wrong_is_consistent():
    found = report(verdict(False, False))
    assert (found.accuracy, found.consistency) == (0.0, 1.0)


def test_answers_that_cannot_be_used_are_counted_and_nothing_else():
    found = report(verdict(True, None), verdict(None, None), verdict(True, True, is_fitness=False))
    assert (found.pairs, found.unanswered) == (3, 3)
    assert (found.accuracy, found.consistency) == (1.0, 1.0)
    assert report(verdict(None, None)).accuracy is None
    assert report().consistency is None


def test_pairs_go_from_the_hardest_to_the_easiest():
    store = TrajectoryStore().grown(
        [trajectory(f, p) for f, p in ((0.0, 0.1), (0.0, 0.2), (0.0, 0.9), (0.4, 0.5), (1.0, 1.0))], "r"
    )
    pairs = choose_pairs(store, 100)
    assert len(pairs) == 10
    assert pairs[0] == (1, 0)
    assert pairs[-1][0] == 4
    few = choose_pairs(store, 3)
    assert (few[0], few[-1], len(few)) == (pairs[0], pairs[-1], 3)
    assert choose_pairs(TrajectoryStore().grown([trajectory(0.0, 0.1)] * 2, "r"), 5) == []


def judge(body):
    """Choose the episode with the higher pole on average; write a rubric where one is asked for."""
    text = body["messages"][-1]["content"]
    if "write the rubric" in text:
        return json.dumps(RUBRIC)
    first, second = text.split("The second episode")
    heights = [
        statistics.mean(map(float, re.findall(r"heading \[(-?[\d.e-]+)", part))) for part in (first, second)
    ]
    better = "first" if heights[0] >= heights[1] else "second"
    return json.dumps({"critique": "The pole is higher.", "better": better})


def bench(folder, server, *more):
    return subprocess.run(
        [
            *(sys.executable, "-m", "rewardsmith", "bench", "evaluator", "--model", "openai/any"),
            *(
                "--base-url",
                server.base_url,
                "--task",
                "classic/pendulum",
                "--pairs",
                "12",
                "--out",
                "judges",
            ),
            *("--sandbox", "local", *more),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment({"COLUMNS": "120", "OPENAI_API_KEY": "sk-none"}),
    )


@pytest.mark.slow
def test_a_model_is_measured_and_measured_again_from_the_record(tmp_path):
    with ChatServer(judge) as server:
        done = bench(tmp_path, server, "--json")
        assert done.returncode == 0, done.stderr
        asked = len(server.requests)
        again = bench(tmp_path, server, "--json")
        assert len(server.requests) == asked
        shown = bench(tmp_path, server)
        prompts = [r.body["messages"][-1]["content"] for r in server.requests]
    assert json.loads(again.stdout) == json.loads(done.stdout)
    (result,) = json.loads(done.stdout)
    found = result["report"]
    assert asked == 1 + 2 * 12
    assert (found["pairs"], found["unanswered"]) == (12, 0)
    assert found["accuracy"] > 0.6
    assert found["consistency"] > 0.9
    assert found["tokens"] > 0
    assert len(result["verdicts"]) == 12
    assert "classic/pendulum" in shown.stdout
    assert "0.5 is chance" in shown.stdout
    # What was measured is what the judge is to find out.
    choices = [p for p in prompts if "which of the two did the task better" in p]
    assert len(choices) == 24
    assert not [p for p in choices if re.search(r"fitness|progress|success|expert", p)]


@pytest.mark.slow
def test_a_judge_that_babbles_is_told_as_such(tmp_path):
    with ChatServer(lambda body: "I like both of them.") as server:
        done = bench(tmp_path, server, "--json", "--no-rubric", "--set", "store.episodes=20")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert result["report"]["unanswered"] == 24
    assert result["report"]["accuracy"] is None


def test_builtin_is_no_judge(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rewardsmith", "bench", "evaluator", "--model", "builtin"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == "error: --model builtin: it judges nothing; use a language model\n"
    assert not list(tmp_path.iterdir())
