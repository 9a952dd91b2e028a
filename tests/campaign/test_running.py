"""Campaigns of tiny runs in processes of their own: what they leave, and how they go on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.cli_process import environment
from loop.tiny import SETTINGS
from rewardsmith.campaign.cells import Variant, make_cells
from rewardsmith.campaign.running import ATTEMPTS_FILE, Campaign
from rewardsmith.campaign.summary import against, measure, span_of, summarise
from rewardsmith.errors import ConfigError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SMALL = (
    *(key for key in SETTINGS if not key.startswith(("final.", "gate."))),
    *("gate.threshold=0.0", "stop.iterations=1", "select.finalists=0", "train.keep=2", "train.rungs=[1.0]"),
    "task.fitness=fitness.py",
)
BENCH = (
    *(sys.executable, "-m", "rewardsmith", "bench", "methods", "--task", "classic/pendulum", "--seeds", "2"),
    *("--method", "rewardsmith", "--method", "no TPE: rewardsmith,gate.rule=none", "--final-seeds", "1"),
    *("--sandbox", "local", "--out", "bench"),
    *(part for key in SMALL for part in ("-s", key)),
)


def bench(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BENCH, *more],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        env=environment({"COLUMNS": "200"}),
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a whole tiny campaign, and its table."""
    folder = tmp_path_factory.mktemp("campaign")
    done = bench(folder, "--json")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout), done.stderr


def test_a_campaign_gives_one_row_for_each_method_and_task(finished):
    _, table, _ = finished
    rows = {row["label"]: row for row in table["rows"]}
    assert set(rows) == {"rewardsmith", "no TPE"}
    for row in rows.values():
        assert len(row["runs"]) == 2
        assert row["n_failed"] == 0
        assert row["fitness"]["n"] == 2
        assert row["means"]["trainings"] == 2.0
        assert row["means"]["skipped"] == 10.0
        assert row["means"]["execute_rate"] == 1.0
        assert row["means"]["wall_s"] > 0.0
    assert rows["rewardsmith"]["means"]["preference"] is not None
    assert rows["no TPE"]["means"]["preference"] is None
    assert set(table["baselines"]["classic/pendulum"]) == {"human", "sparse", "zero", "progress"}
    (one,) = table["against"]
    assert (one["first"], one["second"], one["tasks"]) == ("rewardsmith", "no TPE", ["classic/pendulum"])
    assert one["difference"]["low"] <= one["difference"]["iqm"] <= one["difference"]["high"]
    assert 0.5 < one["steps_ratio"] < 2.0


def test_the_same_command_again_reads_what_there_is(finished):
    folder, table, _ = finished
    attempts = (folder / "bench" / ATTEMPTS_FILE).read_text()
    again = bench(folder, "--json")
    assert json.loads(again.stdout) == table
    assert (folder / "bench" / ATTEMPTS_FILE).read_text() == attempts


def test_the_table_says_what_its_numbers_are(finished):
    folder, _, _ = finished
    shown = bench(folder).stdout
    assert "classic/pendulum  no TPE" in shown
    assert "trainings, skipped, env steps: of the search" in shown
    assert "classic/pendulum: human " in shown
    assert "rewardsmith against no TPE: fitness " in shown
    assert "of the way from a zero reward to the target, over 1 tasks" in shown


def test_a_campaign_that_was_killed_goes_on_and_gives_the_same_table(finished, tmp_path):
    _, table, _ = finished
    process = subprocess.Popen(
        BENCH, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    root = tmp_path / "bench"
    deadline = time.monotonic() + 120
    while not list(root.glob("*-s*/journal.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2.0)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = bench(tmp_path, "--json")
    assert again.returncode == 0, again.stderr
    assert without_times(json.loads(again.stdout)) == without_times(table)


def without_times(table):
    for row in table["rows"]:
        for numbers in (row["means"], *row["runs"]):
            del numbers["wall_s"]
    return table


def test_an_interrupted_campaign_stops_its_runs_and_can_go_on(tmp_path):
    process = subprocess.Popen(BENCH, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    root = tmp_path / "bench"
    deadline = time.monotonic() + 120
    while not list(root.glob("*-s*/journal.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "interrupted"
    for folder in root.glob("*-s*"):
        holder = (folder / "lock").read_text().strip()
        assert not holder or not Path(f"/proc/{holder}").exists()


def test_a_run_that_fails_is_told_and_the_others_end(tmp_path):
    cells = make_cells(
        tasks=["classic/pendulum"],
        variants=[Variant("tiny", "baselines", ("final.seeds=1",))],
        seeds=[0, 1],
        settings=[key for key in SMALL if key.startswith("task.")],
        sandbox="local",
    )
    broken = tmp_path / cells[0].folder_name
    broken.mkdir()
    (broken / "run.yaml").write_text("schema_version: 1\n")
    bad, good = Campaign(tmp_path).run(cells, jobs=2)
    assert bad.result is None
    assert bad.error is not None
    assert bad.error.startswith("error: ")
    assert good.result is not None
    (row,) = summarise([bad, good], {})
    assert (row.n_failed, len(row.runs), row.errors) == (1, 1, (bad.error,))
    assert measure(bad) is None


def test_what_is_asked_for_is_checked_before_anything_starts(tmp_path):
    with pytest.raises(ConfigError):
        make_cells(
            tasks=["classic/pendulum"], variants=[Variant("x", "rewardsmith", ("gate.rul=none",))], seeds=[0]
        )
    done = bench(tmp_path, "--method", "no such: nothing")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: there is no method 'nothing'")
    assert not (tmp_path / "bench").exists()


def test_a_difference_is_measured_from_a_zero_reward_to_the_target():
    arms = {"zero": {"fitness_iqm": {"iqm": 0.15}}}
    assert span_of(arms, 0.95) == pytest.approx(0.8)
    assert span_of(arms, None) is None
    assert span_of(arms, 0.1) is None
    assert span_of({}, 0.95) is None


def test_without_two_fitnesses_on_both_sides_nothing_is_compared():
    assert against("a", "b", [], {}).difference is None
