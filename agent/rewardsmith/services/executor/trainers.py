"""Trainer processes of one task: start a job, follow its messages, end it."""

import json
import logging
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from rewardsmith.errors import TaskError, TrainerError
from rewardsmith.services.forkserver import ForkServer, scrubbed_environment
from rewardsmith.services.tasks.schema import Task

logger = logging.getLogger(__name__)

Message = dict[str, Any]

_LAST_MOMENT_S = 1.0
_DISPLAY_VARIABLES = ("MUJOCO_GL", "PYOPENGL_PLATFORM")


class TrainerTimeoutError(TrainerError):
    """Raised when a trainer did not answer before its deadline; it has been killed."""


class TrainerJob:
    """One running trainer process.

    Iterate over `messages` until it ends; `send` answers a trainer that waits at a rung.
    """

    def __init__(self, server: ForkServer, pid: int, connection: socket.socket) -> None:
        self._server = server
        self.pid = pid
        self._connection = connection
        self._received = b""
        self._lock = threading.Lock()
        self._closed = False

    def receive(self, deadline: float) -> Message:
        """Return the trainer's next message.

        Args:
            deadline: a `time.monotonic()` value.

        Raises:
            TrainerTimeoutError: none came in time; the trainer has been killed.
            TrainerError: the trainer ended, or reports a failure that is not the candidate's.
            TaskError: it reports that the task is wrong.
        """
        while b"\n" not in self._received:
            self._received += self._receive_bytes(deadline)
        line, self._received = self._received.split(b"\n", 1)
        message: Message = json.loads(line)
        if message["event"] == "task_error":
            raise TaskError(str(message["message"]))
        if message["event"] == "error":
            raise TrainerError(str(message["message"]))
        return message

    def _receive_bytes(self, deadline: float) -> bytes:
        remaining_s = max(0.0, deadline - time.monotonic())
        try:
            if not select.select([self._connection], [], [], remaining_s)[0]:
                self.close()
                raise TrainerTimeoutError("the training did not finish within its wall-clock limit")
            data = self._connection.recv(1 << 20)
        except ConnectionResetError:
            data = b""  # it died with a command unread
        except (OSError, ValueError) as error:
            raise TrainerError(f"the trainer was stopped ({error})") from error
        if not data:
            raise TrainerError(self._how_it_ended())
        return data

    def messages(self, timeout_s: float) -> Iterator[Message]:
        """Yield messages until the trainer is done or reports that the candidate failed."""
        deadline = time.monotonic() + timeout_s
        while True:
            message = self.receive(deadline)
            if message["event"] == "done":
                return
            yield message
            if message["event"] == "failed":
                return

    def send(self, message: Message) -> None:
        """Send a command to a trainer that waits for one."""
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise TrainerError(self._how_it_ended()) from error

    def close(self) -> None:
        """Kill the process group and release everything; safe to call twice and from any thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            self._server.kill(self.pid)
        except TrainerError as error:
            logger.debug("trainer %d was gone already: %s", self.pid, error)
        # Wakes a thread that waits for a message; the descriptor itself goes with the last reference.
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _how_it_ended(self) -> str:
        if self._closed:
            return "the trainer was stopped"
        with self._lock:
            self._closed = True
            # Its socket closes a moment before it ends by itself; a kill would hide how.
            status = self._server.wait(self.pid, _LAST_MOMENT_S) or self._server.kill(self.pid)
        tail = self._server.stderr_tail().splitlines()
        reason = f": {tail[-1]}" if tail else ""
        return f"the trainer ended without a result ({status}){reason}"


class TrainerHost:
    """Starts trainer processes for one task from a warm process that has imported all that it needs."""

    def __init__(self, task: Task) -> None:
        self._server = ForkServer(
            "rewardsmith.worker.trainer.zygote",
            args=[task.model_dump_json()],
            env=scrubbed_environment(_DISPLAY_VARIABLES),
            error=TrainerError,
            refusal=TaskError,
        )
        self._jobs: list[TrainerJob] = []
        self._lock = threading.Lock()

    def start(self, job: Message, fds: Sequence[int] = ()) -> TrainerJob:
        """Start a job; `fds` are those of a reward endpoint, in its order."""
        ours, theirs = socket.socketpair()
        with theirs:
            pid = self._server.spawn(job, [theirs.fileno(), *fds])
        running = TrainerJob(self._server, pid, ours)
        with self._lock:
            self._jobs.append(running)
        return running

    def run(self, job: Message, timeout_s: float) -> list[Message]:
        """Run a job to its end and return its messages."""
        running = self.start(job)
        try:
            return list(running.messages(timeout_s))
        finally:
            self.end(running)

    def end(self, job: TrainerJob) -> None:
        """Kill one job and forget it."""
        job.close()
        with self._lock:
            if job in self._jobs:
                self._jobs.remove(job)

    def cancel(self) -> None:
        """Kill every running job; threads that wait for one get a TrainerError."""
        with self._lock:
            jobs = list(self._jobs)
        for job in jobs:
            job.close()

    def close(self) -> None:
        """End every job and the warm process."""
        self.cancel()
        self._server.close()
