import contextlib
import mmap
import os
import threading

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.services.sandbox.base import RewardSpec
from rewardsmith.services.sandbox.client import RewardClient, geometry_of
from rewardsmith.types import Transitions
from rewardsmith.worker.reward.frame import Geometry
from rewardsmith.worker.reward.server import RewardServer

LAYOUT = StateLayout((StateField(name="pos", shape=(3,)), StateField(name="speed")))
SPEC = RewardSpec(layout=LAYOUT, action=ActionSpec(dim=2), max_rows=16)

GOOD = """
def compute_reward(state: State, action: np.ndarray, next_state):
    reach = -np.linalg.norm(next_state.pos, axis=-1)
    effort = -0.1 * np.sum(np.square(action), axis=-1)
    return reach + effort, {"reach": reach, "effort": effort}


def potential(state):
    return 2.0 * state.speed
"""


def batch(n, seed=0):
    rng = np.random.default_rng(seed)
    return Transitions(
        state=rng.normal(size=(n, 4)),
        action=rng.normal(size=(n, 2)),
        next_state=rng.normal(size=(n, 4)),
        terminated=rng.random(n) < 0.5,
    )


def right_answer(rows):
    reach = -np.linalg.norm(rows.next_state[:, :3], axis=-1)
    effort = -0.1 * np.sum(np.square(rows.action), axis=-1)
    return reach + effort


def candidate(body):
    return "def compute_reward(state, action, next_state):\n" + "".join(
        f"    {line}\n" for line in body.split("\n")
    )


@contextlib.contextmanager
def wired(spec=SPEC, call_timeout_s=2.0):
    """A client, and the server's end of the same pipes and memories, in one process."""
    geometry = Geometry.from_wire(**geometry_of(spec))
    request, answer = os.memfd_create("request"), os.memfd_create("answer")
    os.ftruncate(request, geometry.request_bytes)
    os.ftruncate(answer, geometry.answer_bytes)
    read_only = os.open(f"/proc/self/fd/{request}", os.O_RDONLY)
    request_read, request_write = os.pipe()
    answer_read, answer_write = os.pipe()
    server = RewardServer(
        geometry,
        mmap.mmap(read_only, geometry.request_bytes, mmap.MAP_SHARED, mmap.PROT_READ),
        mmap.mmap(answer, geometry.answer_bytes),
        request_read,
        answer_write,
    )
    client = RewardClient((request, answer, request_write, answer_read), spec, call_timeout_s, os.getpid())
    try:
        yield client, server
    finally:
        client.close()
        for fd in (read_only, request_read, answer_write):
            with contextlib.suppress(OSError):
                os.close(fd)


@contextlib.contextmanager
def running(source, spec=SPEC, raw=False):
    """A client of a server that answers in a thread."""
    with wired(spec) as (client, server):
        loaded = server.load(source, raw)
        client.wait_ready(1.0)
        assert loaded
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield client
        finally:
            client.close()
            thread.join()
