"""Runs whose model fails in every known way, more often than not: none is lost.

With `-s` the table of injected faults and of what the runs made of them is printed.
"""

import random
import signal
import subprocess
import time
from collections import Counter

import psutil
import pytest

from chat_server import BODY, CONTENT, FAULTS, HTTP, TRANSPORT, UNSUPPORTED, ChatServer
from loop.scripted import ScriptedModel
from loop.test_model_runs import LITELLM, SDK, model_of, new_run, run
from loop.test_resume import kill_group, lines_of, start
from rewardsmith.errors import ModelUnavailableError
from rewardsmith.loop.records import read_proposals, read_run
from rewardsmith.loop.transcript import read_calls
from sizes import IS_LONG

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

N_INJECTIONS = 1000 if IS_LONG else 250
SHARE = 0.6
SLOW = ("timeout", "drip")
HARMLESS = ("no_usage", "usage_garbage", "two_choices", "extra_fields")
"""Odd answers that are answers all the same."""


class Injector:
    """Draws faults, each as often as any other but the slow ones, since every one of them is waited for."""

    def __init__(self, seed):
        self._rng = random.Random(seed)
        self._deck = []

    def __call__(self, number):
        if self._rng.random() > SHARE:
            return None
        if not self._deck:
            self._deck = self._rng.sample(list(FAULTS), len(FAULTS))
        fault = self._deck.pop()
        return fault if fault not in SLOW or self._rng.random() < 0.2 else "503"


def finish(folder):
    """Run to the end as a person would: after an outage, resume."""
    for n_outages in range(20):
        try:
            result, _ = run(folder)
        except ModelUnavailableError:
            continue
        return result, n_outages
    raise AssertionError("twenty outages in a row")


@pytest.mark.parametrize("name", [SDK, LITELLM])
def test_injected_faults_lose_no_run(name, tmp_path):
    injector = Injector(100 if name == LITELLM else 0)
    injected, attempts, typed, ended = Counter(), Counter(), Counter(), Counter()
    n_runs = n_outages = 0
    while injected.total() < N_INJECTIONS / 2:
        seed = n_runs + (100 if name == LITELLM else 0)
        with ChatServer(ScriptedModel(), injector) as server:
            server.stall_s = 3.0
            model = model_of(server, name, timeout_s=0.5, attempts=4)
            folder = new_run(
                tmp_path,
                "propose.candidates=48",
                "repair.attempts=2",
                name=f"run{n_runs}",
                model=model,
                seed=seed,
            )
            result, outages = finish(folder)
            injected += server.counts
        n_runs, n_outages = n_runs + 1, n_outages + outages
        record = read_run(folder.path)
        assert record.status == "finished"
        assert result["iterations"] == 2
        ended["with a winner" if result["winner"] else "without one"] += 1
        calls = read_calls(record)
        assert all(call.is_answered for call in calls)
        attempts += Counter(str(a.fault) for call in calls for a in call.attempts if a.fault is not None)
        proposals = read_proposals(record)
        typed += Counter(str(p.failure) if p.failure else "usable code" for p in proposals.values())
        assert all(p.failure is not None or "def compute_reward" in p.source for p in proposals.values())
    print(f"\n{name}: {injected.total()} faults in {n_runs} runs, {n_outages} outages resumed, {dict(ended)}")
    for title, group in (("HTTP", HTTP), ("transport", TRANSPORT), ("body", BODY), ("content", CONTENT)):
        shown = ", ".join(f"{fault} {injected[fault]}" for fault in group if injected[fault])
        print(f"  injected, {title}: {shown}")
    print(f"  failed attempts: {dict(attempts.most_common())}")
    print(f"  proposals at the end: {dict(typed.most_common())}")
    # What a model may not support is in few of the questions.
    assert not set(FAULTS) - set(injected) - set(UNSUPPORTED) - set(SLOW), "a fault was never injected"
    # Every fault that keeps an answer from arriving is one failed attempt, and nothing else is.
    unanswered = sum(injected[f] for f in (*HTTP, *TRANSPORT, *BODY) if f not in HARMLESS)
    refused = sum(injected[f] for f in injected if f.startswith("unsupported") or f == "context_length")
    odd = injected["usage_garbage"] if name == LITELLM else 0
    # A busy machine may let an honest answer come too late as well.
    extra = attempts.total() - (unanswered + refused + odd)
    assert 0 <= extra <= attempts["timeout"]
    assert ended["with a winner"] >= n_runs - 1


def test_kills_during_model_calls_lose_nothing_that_was_answered(tmp_path):
    rng = random.Random(3)

    def fault(number):
        return "drip" if rng.random() < 0.2 else None

    with ChatServer(ScriptedModel(), fault) as server:
        server.stall_s = 0.5
        folder = new_run(tmp_path, model=model_of(server, attempts=6, timeout_s=1.0)).path
        orphans, kills = [], 0
        while kills < 8:
            process = start(folder)
            try:
                process.wait(timeout=rng.uniform(1.5, 5.0))
            except subprocess.TimeoutExpired:
                orphans += kill_group(process)
                kills += 1
            else:
                assert process.returncode == 0, process.stderr.read().decode()
                break
        assert start(folder).wait(timeout=120) == 0
    events = lines_of(folder)
    answers = Counter(event["key"] for event in events if event["type"] == "answer")
    assert set(answers.values()) == {1}
    answered = set()
    for event in events:
        if event["type"] == "answer":
            answered.add(event["key"])
        assert event["type"] != "request" or event["key"] not in answered, "an answered call was made again"
    assert read_run(folder).status == "finished"
    _, alive = psutil.wait_procs(orphans, timeout=10)
    assert not alive


def test_ctrl_c_ends_a_run_that_waits_for_a_model(tmp_path):
    with ChatServer(ScriptedModel(), lambda n: "timeout") as server:
        server.stall_s = 60.0
        folder = new_run(tmp_path, model=model_of(server, timeout_s=60.0)).path
        process = start(folder)
        while len(server.requests) < 4:
            assert process.poll() is None
            time.sleep(0.05)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        assert time.monotonic() - asked < 10
        assert process.returncode != 0
    assert read_run(folder).status == "interrupted"
