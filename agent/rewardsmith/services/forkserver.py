"""The driver's side of a fork server: start the warm process, ask it for children, learn how they ended."""

import json
import os
import signal
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardsmith.errors import RewardsmithError
from rewardsmith.services.launching import Launcher, LaunchHere, WarmProcess

_PACKAGE_ROOT = Path(__file__).resolve().parents[2]

KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
)
"""All that a warm process inherits of the user's environment: no key, no token, no home folder."""


def scrubbed_environment(extra: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment for a warm process: the kept variables and `extra`, one thread, no hash seed."""
    kept = {name: os.environ[name] for name in (*KEPT_VARIABLES, *extra) if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    fixed = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    # Both sides must be of one version: what is installed may be another than what runs here.
    return kept | threads | fixed | {"PYTHONPATH": str(_PACKAGE_ROOT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """How a child ended: with an exit code or by a signal."""

    exit_code: int | None
    signal: int | None
    cpu_s: float
    max_rss_bytes: int

    def __str__(self) -> str:
        if self.signal is None:
            return f"exit code {self.exit_code}"
        try:
            return f"signal {signal.Signals(self.signal).name}"
        except ValueError:
            return f"signal {self.signal}"


class ForkServer:
    """A warm process of `python -m module`, started at the first spawn and used by any thread.

    Args:
        module: the module to run; it receives its arguments and, last, the number of its control socket.
        args: arguments of the module.
        env: its whole environment.
        error: type of error to raise when the warm process itself fails.
        refusal: type of error to raise when it says at its start why it cannot serve.
        launch: starts it.
        start_timeout_s: wall-clock limit for its imports.
    """

    def __init__(
        self,
        module: str,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str],
        error: type[RewardsmithError],
        refusal: type[RewardsmithError] | None = None,
        launch: Launcher | None = None,
        start_timeout_s: float = 120.0,
    ) -> None:
        self._module = module
        self._args = list(args)
        self._env = dict(env)
        self._error = error
        self._refusal = refusal or error
        self._start_timeout_s = start_timeout_s
        self._lock = threading.Lock()
        self._is_closed = False
        self._launch = launch or LaunchHere()
        self._warm: WarmProcess | None = None
        self._is_connected = False

    def start(self) -> None:
        """Start the warm process now instead of at the first spawn."""
        with self._lock:
            self._ensure_started()

    def spawn(self, job: Mapping[str, Any], fds: Sequence[int] = ()) -> int:
        """Fork a child that runs `job` and owns copies of `fds`; return its process id."""
        job_fd = os.memfd_create("job", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(job_fd), "wb") as file:
                file.write(json.dumps(job).encode())
            return int(self._ask({"op": "spawn"}, [job_fd, *fds])["pid"])
        finally:
            os.close(job_fd)

    def wait(self, pid: int, timeout_s: float) -> ExitStatus | None:
        """Return how child `pid` ended, or None if it still runs after `timeout_s` (keep it short)."""
        answer = self._ask({"op": "wait", "pid": pid, "timeout_s": timeout_s})
        return None if answer.get("running") else ExitStatus(**answer)

    def kill(self, pid: int) -> ExitStatus:
        """Kill the process group of child `pid` and return how it ended."""
        return ExitStatus(**self._ask({"op": "kill", "pid": pid}))

    def outer_pid(self, pid: int) -> int | None:
        """Return the number that child `pid` has here, where the warm process counts in its own namespace.

        None where it cannot be found, such as after its end.
        """
        return self._warm.outer_pid(pid) if self._warm is not None else None

    def close(self) -> None:
        """End the warm process; it kills its children first."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._hang_up()
            if self._warm is not None:
                self._warm.end(timeout_s=10.0)

    def stderr_tail(self, n_bytes: int = 4000) -> str:
        """Return the end of what the warm process and its children wrote to stderr."""
        return self._warm.stderr_tail(n_bytes) if self._warm is not None else ""

    @property
    def warm(self) -> WarmProcess | None:
        """The warm process, once it has been started."""
        return self._warm

    def _ask(self, message: dict[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        with self._lock:
            control = self._ensure_started()
            try:
                socket.send_fds(control, [json.dumps(message).encode()], list(fds))
                answer = self._receive(control)
            except BaseException as error:
                # An answer that is still on its way must not be taken for that to the next question.
                self._hang_up()
                if not isinstance(error, OSError):
                    raise
                raise self._failed(f"does not answer ({error})") from error
        if "error" in answer:
            raise self._failed(str(answer["error"]))
        return answer

    def _ensure_started(self) -> socket.socket:
        if self._warm is not None and self._is_connected:
            return self._warm.control
        if self._is_closed:
            raise self._error(f"{self._module} was closed")
        if self._warm is not None:
            raise self._failed("does not answer any more")
        try:
            self._warm = self._launch(self._module, self._args, self._env)
        except OSError as error:
            raise self._failed(f"did not start ({error})") from error
        control = self._warm.control
        control.settimeout(self._start_timeout_s)
        try:
            hello = self._receive(control)
            if "refusal" in hello:
                raise self._refusal(str(hello["refusal"]))
        except BaseException as error:
            control.close()
            self._warm.end(timeout_s=0.0)
            if not isinstance(error, OSError):
                raise
            raise self._failed(f"did not start ({error})") from error
        self._is_connected = True
        return control

    def _hang_up(self) -> None:
        """Close the connection, on which the warm process kills its children and ends."""
        if self._warm is not None:
            self._warm.control.close()
        self._is_connected = False

    @staticmethod
    def _receive(control: socket.socket) -> dict[str, Any]:
        data = control.recv(65_536)
        if not data:
            raise ConnectionResetError("it ended")
        answer: dict[str, Any] = json.loads(data)
        return answer

    def _failed(self, what: str) -> RewardsmithError:
        tail = self.stderr_tail().splitlines()
        reason = f": {tail[-1]}" if tail else ""
        return self._error(f"{self._module} {what}{reason}")
