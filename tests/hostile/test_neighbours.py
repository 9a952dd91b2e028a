"""Candidates that run at the same time do not feel each other's bombs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hostile.conftest import SIBLING, SPEC
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.sandbox.base import SandboxLimits

LIMITS = SandboxLimits(call_timeout_s=3.0, memory_bytes=64 * 1024 * 1024)
FORK_BOMB = """
import os
def compute_reward(state, action, next_state):
    n = 0
    while True:
        try:
            os.fork()
        except OSError:
            n += 1
"""
MEMORY_BOMB = """
def compute_reward(state, action, next_state):
    kept = []
    while True:
        kept.append(np.ones(1_000_000))
"""
OTHER = """
def compute_reward(state, action, next_state):
    level = np.tanh(np.sum(np.square(next_state.pos), axis=-1))
    return level - 0.1 * next_state.speed, {"level": level}
"""


def many_answers(sandbox, source, rows, *, raw):
    with sandbox.open(source, SPEC, LIMITS, raw=raw) as process:
        return np.stack([process.call(rows).reward for _ in range(2000 if not raw else 1)])


def test_two_bombs_do_not_change_what_two_others_answer(sandbox, rows):
    alone = [many_answers(sandbox, source, rows, raw=False) for source in (SIBLING, OTHER)]
    jobs = [(SIBLING, False), (FORK_BOMB, True), (OTHER, False), (MEMORY_BOMB, True)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        running = [pool.submit(many_answers, sandbox, source, rows, raw=raw) for source, raw in jobs]
        failures = [running[i].exception() for i in (1, 3)]
        together = [running[i].result() for i in (0, 2)]
    np.testing.assert_array_equal(together[0], alone[0])
    np.testing.assert_array_equal(together[1], alone[1])
    assert all(isinstance(failure, CandidateError) for failure in failures)
    assert failures[0].code == FailureCode.TIMEOUT
    assert failures[1].code == FailureCode.MEMORY
