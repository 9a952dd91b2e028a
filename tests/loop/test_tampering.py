"""A reward that tampers changes nothing but the numbers it answers, and those are watched."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from loop.tiny import tiny_config
from rewardsmith.contract.layout import ActionSpec
from rewardsmith.loop.session import task_of
from rewardsmith.services.executor.trainers import TrainerHost
from rewardsmith.services.journal.objects import ObjectStore
from rewardsmith.services.sandbox.base import RewardSpec
from rewardsmith.services.sandbox.local import LocalSandbox
from rewardsmith.stages.training import TrainingPlan, TrainingRunner

pytestmark = pytest.mark.slow

# Full builtins and imports: static checks must not be what saves us.
REWARD = """
import gc, os, sys, threading, time
import numpy as np

calls = 0

def compute_reward(state, action, next_state):
    global calls
    calls += 1
    {act}
    upright = next_state.heading[:, 0]
    reward = 1.0 * upright
    {late}
    return reward, {{"upright": upright}}
"""
HONEST = REWARD.format(act="pass", late="pass")

WALKS_GC = """
    for thing in gc.get_objects():
        try:
            for name in ("policy", "optimizer", "num_timesteps", "fitness", "episode_returns"):
                if hasattr(thing, name):
                    setattr(thing, name, None)
        except BaseException:
            pass
"""
WALKS_FRAMES = """
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            try:
                value.reward = 1e3
                value[...] = 1e3
            except BaseException:
                pass
        frame = frame.f_back
"""
PATCHES_NUMPY = "np.mean = np.sum = np.isfinite = lambda *a, **k: 0.0"
WRITES_MEMORY = """
    try:
        for pid in (os.getppid(), os.getpid()):
            with open(f"/proc/{pid}/mem", "r+b") as memory:
                memory.write(b"x")
    except OSError:
        pass
"""
FORKS = """
    try:
        os.fork()
    except OSError:
        pass
"""
HARMLESS = {
    "walks the garbage collector": WALKS_GC,
    "walks frames": WALKS_FRAMES,
    "patches numpy": PATCHES_NUMPY,
    "writes the memory of other processes": WRITES_MEMORY,
    "forks at every call": FORKS,
}
FAKES_ANSWER = """
    if calls > 20:
        for fd in range(3, 32):
            try:
                os.write(fd, b"\\x00" * 64)
            except OSError:
                pass
"""
CAUGHT = {
    "fakes an answer": (FAKES_ANSWER, "pass", "protocol"),
    "floods its output": ("while calls > 20: print('x' * 1000, flush=True)", "pass", "output_flood"),
    "hangs": ("while calls > 20: pass", "pass", "timeout"),
    "dies": ("if calls > 20: os._exit(0)", "pass", "exited"),
    "crashes": ("if calls > 20: os.abort()", "pass", "crashed"),
    "raises late": ("if calls > 20: raise ValueError('late')", "pass", "raised"),
    "answers NaN late": ("pass", "if calls > 20: reward = reward * np.nan", "non_finite"),
    "answers huge numbers late": ("pass", "if calls > 20: reward = reward * 1e9", "magnitude"),
    "drifts": ("pass", "if calls > 40: reward = reward + 0.1", "drift"),
}


class RawSandbox(LocalSandbox):
    """The local backend through its raw entry, with short time-outs."""

    def open(self, source, spec, limits, **_):
        return super().open(source, spec, replace(limits, call_timeout_s=1.0), raw=True)


@pytest.fixture(scope="module")
def services():
    host, sandbox = TrainerHost(task_of(tiny_config())), RawSandbox()
    yield host, sandbox
    host.close()
    sandbox.close()


@pytest.fixture
def train(services, tmp_path):
    host, sandbox = services
    task = task_of(tiny_config())

    def run(source: str, name: str = "i01/c00") -> dict:
        runner = TrainingRunner(
            host=host,
            sandbox=sandbox,
            objects=ObjectStore(tmp_path / "objects"),
            spec=RewardSpec(layout=task.layout, action=ActionSpec(dim=1), max_rows=256),
            scratch=Path(tmp_path) / threading.current_thread().name / name,
            timeout_s=60.0,
        )
        plan = TrainingPlan(
            key=name, source=source, seed=7, judge_seeds=(1, 2), checkpoints=(256,), rungs=(256,)
        )
        try:
            return runner.advance(plan, 0)
        finally:
            runner.cancel()

    return run


def outcome(answer: dict) -> list[dict]:
    """Return all that a training reports but for its times; `trajectories` is a content address."""
    assert answer["failure"] is None, answer["failure"]
    return [{k: v for k, v in c.items() if k != "time_s"} for c in answer["checkpoints"]]


@pytest.fixture(scope="module")
def honest_outcome():
    return {}


@pytest.mark.parametrize("act", HARMLESS)
def test_tampering_changes_neither_policy_nor_fitness(train, honest_outcome, act):
    if not honest_outcome:
        honest_outcome["is"] = outcome(train(HONEST))
    assert outcome(train(REWARD.format(act=HARMLESS[act].strip(), late="pass"))) == honest_outcome["is"]


@pytest.mark.parametrize("kind", CAUGHT)
def test_misbehaviour_in_training_is_caught_and_typed(train, kind):
    act, late, code = CAUGHT[kind]
    answer = train(REWARD.format(act=act.strip(), late=late))
    assert answer["failure"]["code"] == code
    assert answer["failure"]["message"]


def test_a_sibling_that_misbehaves_does_no_harm(train):
    alone = outcome(train(HONEST))
    answers: dict[str, dict] = {}

    def run(name: str, source: str) -> None:
        answers[name] = train(source)

    bombs = {
        "fork": "while calls > 5:\n        try: os.fork()\n        except OSError: pass",
        "memory": "hoard = [bytearray(1 << 24) for _ in range(1000)] if calls > 5 else None",
    }
    sources = {name: REWARD.format(act=act, late="pass") for name, act in bombs.items()}
    threads = [
        threading.Thread(target=run, args=(name, source), name=name)
        for name, source in {**sources, "honest": HONEST}.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcome(answers["honest"]) == alone
    assert answers["fork"]["failure"]["code"] in ("timeout", "cpu_limit")
    assert answers["memory"]["failure"]["code"] == "memory"


def test_time_that_a_training_waits_at_a_rung_is_not_held_against_it(services, tmp_path):
    host, sandbox = services
    task = task_of(tiny_config())
    runner = TrainingRunner(
        host=host,
        sandbox=sandbox,
        objects=ObjectStore(tmp_path / "objects"),
        spec=RewardSpec(layout=task.layout, action=ActionSpec(dim=1), max_rows=256),
        scratch=tmp_path / "scratch",
        timeout_s=8.0,
    )
    plan = TrainingPlan(
        key="i01/c00", source=HONEST, seed=7, judge_seeds=(1,), checkpoints=(64, 128), rungs=(64, 128)
    )
    try:
        assert runner.advance(plan, 0)["failure"] is None
        time.sleep(plan_wait_s := 8.5)
        assert plan_wait_s > runner.timeout_s
        assert runner.advance(plan, 1)["failure"] is None
    finally:
        runner.cancel()
