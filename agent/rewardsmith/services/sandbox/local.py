"""The embedded default backend: forked processes behind seccomp, Landlock and resource limits, on Linux."""

from collections.abc import Sequence

from rewardsmith.errors import SandboxUnavailableError
from rewardsmith.services.forkserver import ForkServer, scrubbed_environment
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits, SelfTest
from rewardsmith.services.sandbox.process import LocalProcess

ZYGOTE = "rewardsmith.worker.reward.zygote"


def reward_fork_server(raw: bool = False) -> ForkServer:
    """Return a fork server of reward processes.

    Args:
        raw: give candidates full builtins and imports, and allow unlocked jobs; for tests of the lock.
    """
    return ForkServer(
        ZYGOTE,
        args=["raw"] if raw else [],
        env=scrubbed_environment(),
        error=SandboxUnavailableError,
    )


class LocalSandbox:
    """Starts one locked process per candidate, in milliseconds."""

    name = "local"

    def __init__(self) -> None:
        self._server = reward_fork_server()
        self._raw_server: ForkServer | None = None
        self._self_test: SelfTest | None = None

    def open(
        self,
        source: str,
        spec: RewardSpec,
        limits: SandboxLimits,
        *,
        cpus: Sequence[int] | None = None,
        raw: bool = False,
    ) -> LocalProcess:
        """Start a reward process; see `Sandbox.open`.

        Args:
            source: the candidate.
            spec: the shape of the questions.
            limits: hard limits.
            cpus: cores to run on, or None for all.
            raw: for tests alone: full builtins and imports, behind the same lock.
        """
        return LocalProcess.start(self._raw() if raw else self._server, source, spec, limits, cpus=cpus)

    def self_test(self) -> SelfTest:
        """Try what must be denied, each with a positive control; the result is kept."""
        if self._self_test is None:
            from rewardsmith.services.sandbox.selftest import run_self_test

            self._self_test = run_self_test(self.name, self._raw())
        return self._self_test

    def close(self) -> None:
        """End the fork servers and every process that they started."""
        self._server.close()
        if self._raw_server is not None:
            self._raw_server.close()

    def __enter__(self) -> "LocalSandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _raw(self) -> ForkServer:
        if self._raw_server is None:
            self._raw_server = reward_fork_server(raw=True)
        return self._raw_server
