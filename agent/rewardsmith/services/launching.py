"""How the warm process of a fork server comes to be: here, behind a wrapper, or in a container."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


class WarmProcess(Protocol):
    """A started warm process.

    Attributes:
        control: our end of its control socket.
        shares_memory: whether its children also have a limit on their memory together.
    """

    control: socket.socket
    shares_memory: bool

    def end(self, timeout_s: float) -> None:
        """Wait until it has ended, kill it after `timeout_s`, and release what it held."""
        ...

    def stderr_tail(self, n_bytes: int) -> str:
        """Return the end of what it and its children wrote to stderr."""
        ...

    def outer_pid(self, inner: int) -> int | None:
        """Return the number of a child as this process sees it, or None where it sees none."""
        ...


class Launcher(Protocol):
    """Starts warm processes."""

    def __call__(self, module: str, args: Sequence[str], env: Mapping[str, str]) -> WarmProcess:
        """Start `python -m module ARGS... CONTROL_FD` with this environment and no other.

        Raises:
            OSError: it cannot be started.
        """
        ...


@dataclass
class HostProcess:
    """A warm process of this machine; see `WarmProcess`."""

    control: socket.socket
    process: subprocess.Popen[bytes]
    stderr: Any = field(repr=False)
    is_wrapped: bool = False
    shares_memory: bool = False

    def end(self, timeout_s: float) -> None:
        """Wait until it has ended; see `WarmProcess`."""
        try:
            self.process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self.control.close()

    def kill(self) -> None:
        """Kill it, and a wrapper around it as well."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def outer_pid(self, inner: int) -> int | None:
        """Return the number of a child here; see `WarmProcess`."""
        return find_pid(self.process.pid, inner) if self.is_wrapped else inner

    def stderr_tail(self, n_bytes: int) -> str:
        """Return the end of its stderr, also after it has ended."""
        with contextlib.suppress(ValueError):
            size = os.fstat(self.stderr.fileno()).st_size
            data: bytes = os.pread(self.stderr.fileno(), n_bytes, max(0, size - n_bytes))
            return data.decode(errors="replace").strip()
        return ""


def find_pid(ancestor: int, inner: int) -> int | None:
    """Return the descendant of a process that calls itself `inner`, in whatever namespace it lives.

    Args:
        ancestor: a process, as seen from here.
        inner: the number that the descendant has in its own namespace.
    """
    waiting = [ancestor]
    while waiting:
        pid = waiting.pop()
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        except OSError:
            continue
        numbers = next((line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")), [])
        if pid != ancestor and numbers and int(numbers[-1]) == inner:
            return pid
        waiting += map(int, children.split())
    return None


@dataclass(frozen=True)
class LaunchHere:
    """Starts warm processes on this machine.

    Attributes:
        wrapper: a command that is put before theirs, such as that of bubblewrap.
    """

    wrapper: tuple[str, ...] = ()

    def __call__(self, module: str, args: Sequence[str], env: Mapping[str, str]) -> HostProcess:
        """Start one; see `Launcher`."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stderr = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the process)
        command = [*self.wrapper, sys.executable, "-s", "-P", "-m", module, *args, str(theirs.fileno())]
        try:
            with theirs:
                process = subprocess.Popen(
                    command,
                    env=dict(env),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=stderr,
                    stderr=stderr,
                    start_new_session=True,
                )
        except OSError:
            ours.close()
            stderr.close()
            raise
        return HostProcess(ours, process, stderr, is_wrapped=bool(self.wrapper))
