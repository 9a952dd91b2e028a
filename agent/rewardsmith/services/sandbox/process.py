"""The driver's hold on one reward process: start it, ask it, learn how it ended, kill it."""

import contextlib
import fcntl
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewardsmith.errors import CandidateError, FailureCode, SandboxUnavailableError
from rewardsmith.services.forkserver import ExitStatus, ForkServer
from rewardsmith.services.sandbox.base import RewardEndpoint, RewardSpec, SandboxLimits
from rewardsmith.services.sandbox.client import EndedError, RewardClient, geometry_of
from rewardsmith.services.sandbox.untrusted import clean
from rewardsmith.types import FloatArray, RewardAnswer, Transitions
from rewardsmith.worker.reward.frame import MAX_ERROR_CHARS, MAX_SOURCE_BYTES, Geometry

_REAP_S = 2.0
_ENDING = (FailureCode.TIMEOUT, FailureCode.PROTOCOL)
"""After these the process is not to be asked again."""


class ForkedProcess:
    """One candidate in a forked, locked process; use `start`."""

    def __init__(
        self, server: ForkServer, child: int, client: RewardClient, output_fd: int, limits: SandboxLimits
    ) -> None:
        self.facts: dict[str, str] = {}
        """What the lock says of itself, such as `{"landlock": "ABI 7"}`."""
        self._server, self._child = server, child
        self._client = client
        self._output_fd = output_fd
        self._limits = limits
        self._death: Exception | None = None
        self._ended = False
        self._closed = False

    @classmethod
    def start(
        cls,
        server: ForkServer,
        source: str,
        spec: RewardSpec,
        limits: SandboxLimits,
        *,
        cpus: Sequence[int] | None = None,
        unlocked_in: Path | None = None,
    ) -> "ForkedProcess":
        """Fork a process of `server` for a candidate and wait until it is ready.

        Args:
            server: a fork server of `rewardsmith.worker.reward.zygote`.
            source: the candidate.
            spec: the shape of the questions.
            limits: hard limits.
            cpus: cores to run on, or None for all.
            unlocked_in: for positive controls alone: run without a lock, in this folder. Only a fork server
                that was started as `raw` obeys.

        Raises:
            CandidateError: the module did not compile, raised, or had to be killed.
            SandboxUnavailableError: the fork server or the lock failed.
        """
        if len(source.encode(errors="surrogatepass")) > MAX_SOURCE_BYTES:
            raise CandidateError(FailureCode.TOO_LARGE, f"the source is over {MAX_SOURCE_BYTES // 1024} KiB")
        job = {
            "source": source,
            "geometry": geometry_of(spec),
            "limits": {key: getattr(limits, key) for key in ("cpu_s", "memory_bytes", "output_bytes")},
            "cpus": cpus and list(cpus),
            "unlocked": unlocked_in is not None,
            "folder": str(unlocked_in or ""),
        }
        process = cls._spawn(server, job, spec, limits)
        try:
            process._wait_ready()
        except BaseException:
            process.close()
            raise
        return process

    @classmethod
    def _spawn(
        cls, server: ForkServer, job: dict[str, Any], spec: RewardSpec, limits: SandboxLimits
    ) -> "ForkedProcess":
        geometry = Geometry.from_wire(**job["geometry"])
        request = _memory("request", geometry.request_bytes)
        answer = _memory("answer", geometry.answer_bytes)
        output = os.memfd_create("output", os.MFD_CLOEXEC)
        request_read, request_write = os.pipe()
        answer_read, answer_write = os.pipe()
        # Who never reads must not be able to make the asking process wait.
        os.set_blocking(request_write, False)
        # Through a descriptor opened read-only the kernel refuses a writable mapping for good.
        request_only = os.open(f"/proc/self/fd/{request}", os.O_RDONLY | os.O_CLOEXEC)
        theirs = (request_only, answer, output, request_read, answer_write)
        ours = (request, answer, request_write, answer_read)
        try:
            child = server.spawn(job, theirs)
        except BaseException:
            for fd in (*ours, output):
                os.close(fd)
            raise
        finally:
            for fd in (request_only, request_read, answer_write):
                os.close(fd)
        client = RewardClient(ours, spec, limits.call_timeout_s, server.outer_pid(child))
        return cls(server, child, client, output, limits)

    @property
    def pid(self) -> int | None:
        """The process id as it is seen from here; None where it had ended before it could be found."""
        return self._client.pid

    @property
    def has_potential(self) -> bool:
        """Whether the candidate also defines `potential(state)`."""
        return self._client.has_potential

    def call(self, batch: Transitions) -> RewardAnswer:
        """Return the reward of a batch; see `RewardProcess.call`."""
        self._check_alive()
        try:
            return self._client.call(batch)
        except CandidateError as error:
            raise self._typed(error) from None

    def potential(self, state: FloatArray) -> FloatArray:
        """Return phi of each state; see `RewardProcess.potential`."""
        self._check_alive()
        try:
            return self._client.potential(state)
        except CandidateError as error:
            raise self._typed(error) from None

    def endpoint(self) -> RewardEndpoint:
        """Return what a trainer needs to call this process; the descriptors stay open here until `close`."""
        self._check_alive()
        return RewardEndpoint(fds=self._client.fds, wire=self._client.wire())

    def death(self, timeout_s: float = 0.0) -> Exception | None:
        """Return the typed reason why the process has ended; see `RewardProcess.death`."""
        if not self._ended:
            self._reap(timeout_s)
        return self._death

    def kill(self, reason: Exception) -> None:
        """End the process for a reason of the caller's, such as a time-out that a trainer saw."""
        if not self._ended:
            self._ended, self._death = True, reason
            self._server.kill(self._child)

    def printed(self, limit: int = MAX_ERROR_CHARS) -> str:
        """Return what the candidate printed, cut to `limit` characters and cleaned."""
        return clean(os.pread(self._output_fd, self._limits.output_bytes, 0), limit)

    def close(self) -> None:
        """Kill the process and release everything; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        # A fork server that is gone took its children along.
        with contextlib.suppress(SandboxUnavailableError):
            self.kill(SandboxUnavailableError("the reward process was closed"))
        self._client.close()
        os.close(self._output_fd)

    def __enter__(self) -> "ForkedProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait_ready(self) -> None:
        try:
            self.facts = self._client.wait_locked(self._limits.start_timeout_s)
        except CandidateError as error:
            # Nothing of the candidate has run yet.
            self._reap(_REAP_S)
            detail = self._death or error
            raise SandboxUnavailableError(f"a reward process did not start: {detail}") from error
        try:
            self._client.wait_ready(self._limits.start_timeout_s)
        except CandidateError as error:
            raise self._typed(error) from None

    def _check_alive(self) -> None:
        if self._death is not None:
            raise self._death

    def _typed(self, error: CandidateError) -> Exception:
        """Return the error to raise, after ending a process that cannot go on."""
        if isinstance(error, EndedError):
            self._reap(_REAP_S)
            if self._death is None:
                self.kill(CandidateError(FailureCode.PROTOCOL, "the reward process closed its pipe"))
            return self._death or error
        if error.code in _ENDING:
            self.kill(error)
        return error

    def _reap(self, timeout_s: float) -> None:
        status = self._server.wait(self._child, timeout_s)
        if status is not None:
            warm = self._server.warm
            self._ended = True
            self._death = explain(status, self._limits, shared=warm is not None and warm.shares_memory)


def explain(
    status: ExitStatus, limits: SandboxLimits, *, shared: bool = False
) -> CandidateError | SandboxUnavailableError:
    """Return the typed reason for a process that ended by itself.

    Args:
        status: how it ended.
        limits: its own.
        shared: whether it also had a limit on memory together with others.
    """
    if status.signal == signal.SIGKILL and shared:
        # Its own limit would have raised MemoryError; this may have been the others' doing.
        return SandboxUnavailableError("the memory of all reward processes together ran out")
    if status.signal == signal.SIGXCPU:
        return CandidateError(FailureCode.CPU_LIMIT, f"over {limits.cpu_s} s of CPU time")
    if status.signal == signal.SIGXFSZ:
        return CandidateError(FailureCode.OUTPUT_FLOOD, f"printed over {limits.output_bytes} bytes")
    if status.signal == signal.SIGKILL:
        return CandidateError(FailureCode.MEMORY, "the system killed the process, most likely for its memory")
    if status.signal in (signal.SIGTERM, signal.SIGHUP):
        # It cannot signal itself, so this came from outside.
        return SandboxUnavailableError(f"somebody ended the reward process ({status})")
    if status.signal is not None:
        return CandidateError(FailureCode.CRASHED, f"the process crashed ({status})")
    return CandidateError(FailureCode.EXITED, f"the process exited by itself ({status})")


def _memory(name: str, size: int) -> int:
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    # A file that shrinks under a mapping kills whoever reads it.
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return fd
