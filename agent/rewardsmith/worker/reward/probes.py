# ruff: noqa: PTH108, PTH123, PTH208
"""What a lock must refuse, written as a candidate: each component is 1 where the act succeeded, else 0.

The self-test runs this text in a locked process and, as a control, in an unlocked one. Details are printed,
one JSON array a line.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import threading
from typing import Any

import numpy as np

_CLONE_FILES = 0x400
PROBE_MEMORY_BYTES = 128 * 1024 * 1024
"""More than the self-test grants."""


def read_a_file() -> None:
    """Try to read a file."""
    with open("/etc/passwd", "rb") as file:
        file.read(1)


def write_a_file() -> None:
    """Try to write a file."""
    with open("probe", "wb") as file:
        file.write(b"x")
    os.unlink("probe")


def list_a_folder() -> None:
    """Try to list a folder."""
    if not os.listdir("/"):
        raise OSError(errno.EACCES, "nothing seen")


def read_the_environment_of_the_parent() -> None:
    """Try to read the environment of the parent."""
    with open(f"/proc/{os.getppid()}/environ", "rb") as file:
        file.read(1)


def open_a_tcp_socket() -> None:
    """Try to open a tcp socket."""
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()


def open_a_udp_socket() -> None:
    """Try to open a udp socket."""
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def open_a_unix_socket() -> None:
    """Try to open a unix socket."""
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()


def fork() -> None:
    """Try to fork."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def start_a_thread() -> None:
    """Try to start a thread."""
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def execute_a_program() -> None:
    """Try to execute a program."""
    # The name does not exist: reaching the look-up is enough, and harmless.
    with contextlib.suppress(FileNotFoundError):
        os.execve("/nonexistent/program", ["program"], {})


def signal_the_parent() -> None:
    """Try to signal the parent."""
    os.kill(os.getppid(), 0)


def read_limits_of_the_parent() -> None:
    """Try to read limits of the parent."""
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)


def own_a_descriptor_for_signals() -> None:
    """Try to own a descriptor for signals."""
    fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid())


def change_a_signal_handler() -> None:
    """Try to change a signal handler."""
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)


def share_memory() -> None:
    """Try to share memory."""
    mmap.mmap(-1, mmap.PAGESIZE).close()


def map_executable_memory() -> None:
    """Try to map executable memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    mmap.mmap(-1, mmap.PAGESIZE, flags, mmap.PROT_READ | mmap.PROT_EXEC).close()


def make_memory_executable() -> None:
    """Try to make memory executable."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    _system_call(_libc().mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 5))


def use_more_memory() -> None:
    """Try to use more memory."""
    np.empty(PROBE_MEMORY_BYTES, dtype=np.uint8)


def make_a_memory_file() -> None:
    """Try to make a memory file."""
    os.close(os.memfd_create("probe"))


def make_a_pipe() -> None:
    """Try to make a pipe."""
    for fd in os.pipe():
        os.close(fd)


def copy_a_descriptor() -> None:
    """Try to copy a descriptor."""
    os.close(os.dup(1))


def raise_a_limit() -> None:
    """Try to raise a limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def leave_a_namespace() -> None:
    """Try to leave a namespace."""
    _system_call(_libc().unshare(_CLONE_FILES))


PROBES = (
    read_a_file, write_a_file, list_a_folder, read_the_environment_of_the_parent, open_a_tcp_socket,
    open_a_udp_socket, open_a_unix_socket, fork, start_a_thread, execute_a_program, signal_the_parent,
    read_limits_of_the_parent, own_a_descriptor_for_signals, change_a_signal_handler, share_memory,
    map_executable_memory, make_memory_executable, use_more_memory, make_a_memory_file, make_a_pipe,
    copy_a_descriptor, raise_a_limit, leave_a_namespace,
)  # fmt: skip


def compute_reward(state: Any, action: Any, next_state: Any) -> tuple[Any, dict[str, Any]]:
    """Try every probe once."""
    n = len(action)
    components = {}
    for probe in PROBES:
        name = probe.__name__.replace("_", " ")
        detail = "succeeded"
        try:
            probe()
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
        components[name] = np.full(n, float(detail == "succeeded"))
        with contextlib.suppress(OSError):
            os.write(1, json.dumps([name, detail]).encode() + b"\n")
    return np.zeros(n), components


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _system_call(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
