"""The warm side of a fork server: one prepared process that forks a child for every job.

A fresh interpreter with torch takes seconds to start, a fork of a warm one milliseconds. The process is
single-threaded and was started with a scrubbed environment, so a child inherits neither locks nor keys.

Protocol, over one `SOCK_SEQPACKET` Unix socket; each message is a JSON object:

- `{"op": "spawn"}` with file descriptors; the first holds the job as JSON. Answer: `{"pid": n}`.
- `{"op": "wait", "pid": n, "timeout_s": s}`. Answer: an exit record, or `{"running": true}`.
- `{"op": "kill", "pid": n}`: kill its process group. Answer: an exit record.

An exit record is `{"exit_code": n | null, "signal": n | null, "cpu_s": s, "max_rss_bytes": n}`. A finished
child stays a zombie until `wait` or `kill` asks for it, so a process id never names another process. When
the other end of the socket closes, every child is killed.
"""

import ctypes
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

MAX_FDS = 16
_MAX_MESSAGE_BYTES = 65_536
_PR_SET_PDEATHSIG = 1

RunJob = Callable[[dict[str, Any], list[int]], None]


def serve(control: socket.socket, run_job: RunJob, hello: dict[str, Any] | None = None) -> None:
    """Answer requests on `control` until its other end closes; `run_job` runs in each forked child.

    Args:
        control: the connected socket.
        run_job: called in the child with the job and the file descriptors that came with it.
        hello: sent once, to say that the imports are done.
    """
    children: set[int] = set()
    _send(control, {"ready": True, **(hello or {})})
    try:
        while True:
            data, fds, _, _ = socket.recv_fds(control, _MAX_MESSAGE_BYTES, MAX_FDS)
            if not data:
                return
            request = json.loads(data)
            if request["op"] == "spawn":
                pid = _spawn(control, fds, run_job)
                children.add(pid)
                _send(control, {"pid": pid})
            else:
                _send(control, _end(request, children))
    finally:
        for pid in children:
            _kill_group(pid)
            os.waitpid(pid, 0)


def _spawn(control: socket.socket, fds: list[int], run_job: RunJob) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _run_child(parent, control, fds, run_job)
    for fd in fds:
        os.close(fd)
    return pid


def _run_child(parent: int, control: socket.socket, fds: list[int], run_job: RunJob) -> NoReturn:
    code = 70
    try:
        os.setsid()
        die_with_parent(parent)
        control.close()
        with os.fdopen(fds[0], "rb") as file:
            file.seek(0)
            job = json.load(file)
        run_job(job, fds[1:])
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(70)


def _end(request: dict[str, Any], children: set[int]) -> dict[str, Any]:
    pid = request["pid"]
    if pid not in children:
        return {"error": f"no child {pid}"}
    if request["op"] == "kill":
        _kill_group(pid)
    elif not _exits_within(pid, request["timeout_s"]):
        return {"running": True}
    _, status, usage = os.wait4(pid, 0)
    children.discard(pid)
    signalled = os.WIFSIGNALED(status)
    return {
        "exit_code": None if signalled else os.WEXITSTATUS(status),
        "signal": os.WTERMSIG(status) if signalled else None,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "max_rss_bytes": usage.ru_maxrss * 1024,
    }


def _exits_within(pid: int, timeout_s: float) -> bool:
    pidfd = os.pidfd_open(pid)
    try:
        return bool(select.select([pidfd], [], [], timeout_s)[0])
    finally:
        os.close(pidfd)


def _kill_group(pid: int) -> None:
    # A child killed before its setsid has no group of its own yet.
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    control.send(json.dumps(message).encode())
