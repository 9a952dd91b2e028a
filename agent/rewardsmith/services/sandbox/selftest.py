"""The proof that denials deny: every probe in a locked process, and in an unlocked one as its control."""

import json
import platform
import tempfile
from pathlib import Path

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.errors import CandidateError
from rewardsmith.services.forkserver import ForkServer
from rewardsmith.services.sandbox.base import Probe, RewardSpec, SandboxLimits, SelfTest
from rewardsmith.services.sandbox.process import ForkedProcess
from rewardsmith.types import Transitions
from rewardsmith.worker.reward import probes

_SPEC = RewardSpec(layout=StateLayout((StateField(name="x"),)), action=ActionSpec(dim=1), max_rows=1)
_LIMITS = SandboxLimits(
    start_timeout_s=30.0, call_timeout_s=30.0, cpu_s=20, memory_bytes=probes.PROBE_MEMORY_BYTES // 2
)
_ONE_ROW = Transitions(
    state=np.zeros((1, 1)),
    action=np.zeros((1, 1)),
    next_state=np.zeros((1, 1)),
    terminated=np.zeros(1, dtype=np.bool_),
)


def run_self_test(
    backend: str, server: ForkServer, control: ForkServer, features: dict[str, str]
) -> SelfTest:
    """Run every probe locked and unlocked.

    Args:
        backend: its name, for the report.
        server: the backend's fork server, started as `raw`.
        control: one of this machine with no box around it, started as `raw`.
        features: what is known of the backend before any process runs.

    Raises:
        SandboxUnavailableError: no process could be started or locked.
    """
    source = Path(probes.__file__).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        allowed, said_unlocked, _ = _run(control, source, Path(folder))
    succeeded, said_locked, facts = _run(server, source, None)
    results = tuple(
        Probe(
            name=name,
            denied=succeeded.get(name) is False,
            control=allowed.get(name) is True,
            detail=f"locked: {said_locked.get(name, 'no answer')}; "
            f"unlocked: {said_unlocked.get(name, 'no answer')}",
        )
        for name in (probe.__name__.replace("_", " ") for probe in probes.PROBES)
    )
    return SelfTest(
        backend=backend, probes=results, features=features | facts | {"processor": platform.machine()}
    )


def _run(
    server: ForkServer, source: str, unlocked_in: Path | None
) -> tuple[dict[str, bool], dict[str, str], dict[str, str]]:
    """Return, by probe, whether it succeeded and what it said; and the facts of the lock."""
    with ForkedProcess.start(server, source, _SPEC, _LIMITS, unlocked_in=unlocked_in) as process:
        try:
            answer = process.call(_ONE_ROW)
            succeeded = {name: bool(values[0]) for name, values in answer.components.items()}
        except CandidateError as error:
            # A probe that kills the process proves nothing; the missing answers make the test fail.
            return {}, {"": str(error)}, process.facts
        lines = process.printed(limit=_LIMITS.output_bytes).splitlines()
        return succeeded, dict(json.loads(line) for line in lines), process.facts
