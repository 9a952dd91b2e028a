"""What the backends have in common whose reward processes are forked from a warm one."""

import contextlib
from collections.abc import Sequence
from typing import Self

from rewardsmith.errors import SandboxUnavailableError
from rewardsmith.services.forkserver import ForkServer, scrubbed_environment
from rewardsmith.services.launching import Launcher, LaunchHere
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits, SelfTest
from rewardsmith.services.sandbox.process import ForkedProcess

ZYGOTE = "rewardsmith.worker.reward.zygote"
RAW = "raw"
"""The argument with which candidates get full builtins and imports; for tests of the lock."""


class ForkedSandbox:
    """Starts one process per candidate, in milliseconds.

    Args:
        name: of the backend.
        launch: starts a warm process.
        features: what strengthens this backend here, for reports.
        arguments: of every warm process.
    """

    is_weak = False

    def __init__(
        self,
        name: str,
        launch: Launcher,
        *,
        features: dict[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._launch, self._arguments = launch, tuple(arguments)
        self.features = dict(features or {})
        self._server = self._fork_server()
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
    ) -> ForkedProcess:
        """Start a reward process; see `Sandbox.open`.

        Args:
            source: the candidate.
            spec: the shape of the questions.
            limits: hard limits.
            cpus: cores to run on, or None for all.
            raw: for tests alone: full builtins and imports, behind the same lock.
        """
        return ForkedProcess.start(self._raw() if raw else self._server, source, spec, limits, cpus=cpus)

    def self_test(self) -> SelfTest:
        """Try what must be denied, each with a positive control; the result is kept."""
        if self._self_test is None:
            from rewardsmith.services.sandbox.selftest import run_self_test

            with contextlib.closing(fork_server(LaunchHere(), (RAW,))) as control:
                self._self_test = run_self_test(self.name, self._raw(), control, self.features)
            # It obeys jobs that ask for no lock: not a thing to keep.
            self._close_raw()
        return self._self_test

    def close(self) -> None:
        """End the fork servers and every process that they started."""
        self._server.close()
        self._close_raw()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _close_raw(self) -> None:
        raw, self._raw_server = self._raw_server, None
        if raw is not None:
            raw.close()

    def _raw(self) -> ForkServer:
        if self._raw_server is None:
            self._raw_server = self._fork_server(RAW)
        return self._raw_server

    def _fork_server(self, *arguments: str) -> ForkServer:
        return fork_server(self._launch, (*arguments, *self._arguments))


def fork_server(launch: Launcher, arguments: Sequence[str] = ()) -> ForkServer:
    """Return a fork server of reward processes; the caller closes it.

    Args:
        launch: starts its warm process.
        arguments: of the warm process. `RAW` gives candidates full builtins and imports and obeys jobs that
            ask for no lock: for tests of the lock.
    """
    return ForkServer(
        ZYGOTE, args=arguments, env=scrubbed_environment(), error=SandboxUnavailableError, launch=launch
    )
