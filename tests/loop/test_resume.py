"""A run that is killed goes on as if nothing had happened."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from loop.tiny import ListReporter, tiny_config
from rewardsmith.errors import ReplayMismatchError, RunFolderError
from rewardsmith.loop.reporter import SilentReporter
from rewardsmith.loop.run import RESULT_FILE, execute
from rewardsmith.services.journal.folder import RunFolder
from sizes import IS_LONG

N_KILLS = 20 if IS_LONG else 8
LONGEST_LIFE_S = 5.0
SCRIPT = Path(__file__).with_name("resume_process.py")

pytestmark = pytest.mark.slow


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def start(folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def kill_group(process: subprocess.Popen) -> list[psutil.Process]:
    """Kill the driver's process group; return every process that it had started."""
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return children


def test_kills_at_any_moment_change_nothing(finished_run, tmp_path):
    _, undisturbed = finished_run
    rng = random.Random(20)
    config = tiny_config().model_dump(mode="json")
    folders = [RunFolder.create(tmp_path, "run0", config).path]
    orphans: list[psutil.Process] = []
    kills = 0
    while kills < N_KILLS:
        process = start(folders[-1])
        try:
            process.wait(timeout=rng.uniform(0.3, LONGEST_LIFE_S))
        except subprocess.TimeoutExpired:
            orphans += kill_group(process)
            kills += 1
        else:
            assert process.returncode == 0, process.stderr.read().decode()
            folders.append(RunFolder.create(tmp_path, f"run{len(folders)}", config).path)
    for path in folders:
        execute(RunFolder.open(path), SilentReporter())
        assert json.loads((path / RESULT_FILE).read_text()) == undisturbed
        events = lines_of(path)
        answers = Counter(event["key"] for event in events if event["type"] == "answer")
        assert set(answers.values()) == {1}
        answered: set[str] = set()
        for event in events:
            if event["type"] == "request":
                assert event["key"] not in answered, "a finished effect was run again"
            elif event["type"] == "answer":
                answered.add(event["key"])
        assert not list(path.rglob(".tmp-*"))
        assert not (path / "tmp").exists()
    _, alive = psutil.wait_procs(orphans, timeout=10)
    assert not alive


def test_a_finished_run_answers_from_its_journal(finished_run):
    path, undisturbed = finished_run
    before = (path / "journal.jsonl").read_bytes()
    reporter = ListReporter()
    started = time.monotonic()
    result = execute(RunFolder.open(path), reporter)
    assert json.loads(json.dumps(result)) == undisturbed
    assert (path / "journal.jsonl").read_bytes() == before
    assert time.monotonic() - started < 30


def test_a_second_writer_is_turned_away(finished_run):
    path, _ = finished_run
    with RunFolder.open(path).writer(), pytest.raises(RunFolderError, match="in use by process"):
        execute(RunFolder.open(path), SilentReporter())


def test_a_run_whose_configuration_was_edited_is_not_gone_on_with(finished_run, tmp_path):
    path, _ = finished_run
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    text = (copy / "run.yaml").read_text()
    (copy / "run.yaml").write_text(text.replace("\nseed: 0\n", "\nseed: 1\n"))
    with pytest.raises(ReplayMismatchError, match="recorded with other values of seeds"):
        execute(RunFolder.open(copy), SilentReporter())


def test_a_changed_task_is_noticed(tmp_path):
    config = tiny_config().model_dump(mode="json")
    folder = RunFolder.create(tmp_path, "run", {**config, "task_digest": "0" * 64})
    with pytest.raises(RunFolderError, match="has changed since the run began"):
        execute(folder, SilentReporter())


def test_a_weak_sandbox_is_told_of_after_the_run_was_resumed_under_another(tmp_path):
    weak = {"sandbox": "subprocess", "allow_weak_sandbox": True}
    config = tiny_config("stop.iterations=1", "final.seeds=0").model_copy(update=weak)
    folder = RunFolder.create(tmp_path, "run", config.model_dump(mode="json"))
    reporter = StopAtTraining()
    with pytest.raises(KeyboardInterrupt):
        execute(folder, reporter)
    text = (folder.path / "run.yaml").read_text()
    text = text.replace("sandbox: subprocess", "sandbox: local")
    (folder.path / "run.yaml").write_text(text)
    result = execute(RunFolder.open(folder.path), SilentReporter())
    assert result["sandbox"] == "local"
    assert result["reduced_isolation"]


class StopAtTraining(SilentReporter):
    """Interrupts a run as its first training begins."""

    def begin(self, key, label, total):
        if "/c" in key:
            raise KeyboardInterrupt
