import numpy as np
import pytest

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.services.launching import LaunchHere
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits
from rewardsmith.services.sandbox.forked import RAW, fork_server
from rewardsmith.types import Transitions
from sandboxes import open_backend

LAYOUT = StateLayout(
    (StateField(name="pos", shape=(3,)), StateField(name="goal", shape=(3,)), StateField(name="speed"))
)
SPEC = RewardSpec(layout=LAYOUT, action=ActionSpec(dim=2), max_rows=64)

SIBLING = """
def compute_reward(state, action, next_state):
    return -np.linalg.norm(next_state.pos - next_state.goal, axis=-1), {"speed": next_state.speed}
"""


def made_rows():
    rng = np.random.default_rng(0)
    return Transitions(
        state=rng.uniform(0.1, 1.0, (8, 7)),
        action=rng.uniform(-1.0, 1.0, (8, 2)),
        next_state=rng.uniform(0.1, 1.0, (8, 7)),
        terminated=np.zeros(8, dtype=bool),
    )


@pytest.fixture(scope="session")
def rows():
    return made_rows()


@pytest.fixture(scope="session", params=["local", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request):
    with open_backend(request.param) as backend:
        yield backend


@pytest.fixture(scope="session")
def sibling(sandbox, rows):
    """A candidate that lives through the whole corpus, and its right answer."""
    process = sandbox.open(SIBLING, SPEC, SandboxLimits())
    yield process, process.call(rows)
    process.close()


@pytest.fixture(scope="session")
def control_server():
    """A fork server whose processes may run without a lock; it is thrown away at the end."""
    server = fork_server(LaunchHere(), (RAW,))
    yield server
    server.close()
