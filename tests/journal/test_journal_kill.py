"""A journal survives SIGKILL at any moment: nothing finished is lost, repeated or changed."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from effects_process import N_EFFECTS, run_all

from rewardsmith.services.journal.journal import read_events

SCRIPT = Path(__file__).with_name("effects_process.py")
N_KILLS = 10


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_after(path: Path, n_lines: int, delay_s: float) -> bool:
    """Run the script until it has appended `n_lines` lines, then kill it; False where it ended first."""
    target = count_lines(path) + n_lines
    process = subprocess.Popen([sys.executable, str(SCRIPT), str(path)])
    while count_lines(path) < target and process.poll() is None:
        time.sleep(0.0005)
    time.sleep(delay_s)
    process.kill()
    return process.wait() == -signal.SIGKILL


def check_is_sound(path: Path) -> None:
    whole, _, _torn = path.read_bytes().rpartition(b"\n")
    for line in whole.split(b"\n"):
        json.loads(line)
    answered: set[str] = set()
    for event in read_events(path):
        if event.type in ("request", "answer"):
            assert event.key not in answered
        if event.type == "answer":
            answered.add(event.key)


def test_a_run_that_was_killed_again_and_again_ends_as_an_undisturbed_one(tmp_path):
    rng = random.Random(7)
    killed, undisturbed = tmp_path / "killed.jsonl", tmp_path / "undisturbed.jsonl"
    n_killed = 0
    for _ in range(N_KILLS):
        n_killed += kill_after(killed, n_lines=rng.randint(1, 20), delay_s=rng.uniform(0, 0.004))
        check_is_sound(killed)
    # On a busy machine the last kills may come too late.
    assert n_killed >= N_KILLS // 2

    assert run_all(killed) == run_all(undisturbed)

    check_is_sound(killed)
    events = list(read_events(killed))
    assert Counter(event.type for event in events)["answer"] == N_EFFECTS
    attempts = Counter(event.key for event in events if event.type == "request")
    assert set(attempts) == {event.key for event in read_events(undisturbed) if event.type == "request"}
    # Four workers: no kill loses more than the four effects in flight.
    assert sum(attempts.values()) <= N_EFFECTS + 4 * N_KILLS
