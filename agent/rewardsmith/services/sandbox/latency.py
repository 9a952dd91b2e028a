"""How long a backend takes: to start a reward process, and to answer a batch."""

import statistics
import time
from dataclasses import dataclass

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.services.sandbox.base import RewardSpec, Sandbox, SandboxLimits
from rewardsmith.types import Transitions

N_ROWS = 8
_N_CALLS, _N_STARTS = 500, 5
_SPEC = RewardSpec(
    layout=StateLayout((StateField(name="hand", shape=(3,)), StateField(name="goal", shape=(3,)))),
    action=ActionSpec(dim=2),
    max_rows=64,
)
_SOURCE = """
def compute_reward(state, action, next_state):
    reach = -np.linalg.norm(next_state.hand - next_state.goal, axis=-1)
    return reach, {"reach": reach}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Medians on this machine, as it is now.

    Attributes:
        start_s: from the request for a reward process to its first readiness.
        call_s: of one call of `N_ROWS` rows.
    """

    start_s: float
    call_s: float


def measure_latency(sandbox: Sandbox) -> Latency:
    """Start a few reward processes and ask one of them some hundred times; raises as the backend does."""
    rng = np.random.default_rng(0)
    batch = Transitions(
        state=rng.normal(size=(N_ROWS, 6)),
        action=rng.normal(size=(N_ROWS, 2)),
        next_state=rng.normal(size=(N_ROWS, 6)),
        terminated=np.zeros(N_ROWS, dtype=np.bool_),
    )
    starts, calls = [], []
    for _ in range(_N_STARTS):
        started = time.perf_counter()
        process = sandbox.open(_SOURCE, _SPEC, SandboxLimits())
        starts.append(time.perf_counter() - started)
        process.close()
    process = sandbox.open(_SOURCE, _SPEC, SandboxLimits())
    try:
        for _ in range(_N_CALLS):
            started = time.perf_counter()
            process.call(batch)
            calls.append(time.perf_counter() - started)
    finally:
        process.close()
    return Latency(start_s=statistics.median(starts), call_s=statistics.median(calls))
