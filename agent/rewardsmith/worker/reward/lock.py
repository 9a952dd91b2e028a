"""Everything that a reward process gives up before it runs a line of candidate code."""

import ctypes
import mmap
import os
import resource
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rewardsmith.worker.forkserver import die_with_parent
from rewardsmith.worker.reward import landlock, seccomp

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_NOBODY = 65534
_MAX_FDS = 64
_MAX_STACK_BYTES = 8 * 1024 * 1024


Kind = Literal["full", "contained", "weak"]
"""All of it; without Landlock where a container stands around and has none; limits and user only."""


@dataclass(frozen=True, kw_only=True)
class Caps:
    """The numbers among the limits of a reward process."""

    cpu_s: int
    memory_bytes: int
    output_bytes: int


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What a lock consists of on this system, for reports."""

    landlock_abi: int
    user_changed: bool
    seccomp: bool

    @property
    def flags(self) -> int:
        """What fits into one number of a frame: bit 0 the user, bit 1 seccomp."""
        return int(self.user_changed) | int(self.seccomp) << 1


class LockError(Exception):
    """Raised when a part of the lock cannot be applied; the process must not run candidate code."""


def limits(caps: Caps, address_space: int) -> dict[int, tuple[int, int]]:
    """Return soft and hard value of each resource limit.

    Args:
        caps: what the candidate may use.
        address_space: bytes that are mapped already.
    """
    _, stack = resource.getrlimit(resource.RLIMIT_STACK)
    stack = _MAX_STACK_BYTES if stack == resource.RLIM_INFINITY else min(stack, _MAX_STACK_BYTES)
    memory = address_space + caps.memory_bytes
    # At the hard CPU limit the kernel sends SIGKILL, which says nothing; at the soft one SIGXCPU.
    pairs = {
        resource.RLIMIT_CPU: (caps.cpu_s, caps.cpu_s + 1),
        resource.RLIMIT_AS: (memory, memory),
        resource.RLIMIT_FSIZE: (caps.output_bytes, caps.output_bytes),
        resource.RLIMIT_STACK: (stack, stack),
        resource.RLIMIT_NOFILE: (_MAX_FDS, _MAX_FDS),
    }
    nothing = (resource.RLIMIT_CORE, resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE)
    return pairs | dict.fromkeys(nothing, (0, 0))


def address_space() -> int:
    """Return the bytes of address space that this process has mapped."""
    fd = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return int(os.read(fd, 100).split()[0]) * mmap.PAGESIZE
    finally:
        os.close(fd)


def close_all_but(keep: Iterable[int]) -> None:
    """Close every descriptor except 0 to 2 and these."""
    low = 3
    for fd in sorted(keep):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def require_one_thread() -> None:
    """Refuse a process with threads: Landlock would not hold for those that run already."""
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208  (a path object costs more than the call)
    if threads != 1:
        raise LockError(f"the process has {threads} threads")


def apply(
    caps: Caps, parent: int, kind: Kind = "full"
) -> Applied:  # pragma: no cover  (runs in a locked child)
    """Lock this process for good.

    Args:
        caps: what the candidate may use.
        parent: the process whose death ends this one.
        kind: how much of a lock.

    Raises:
        LockError: a part could not be applied.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        require_one_thread()
        # The interpreter ignores SIGXFSZ and SIGPIPE and catches SIGINT.
        for number in (signal.SIGXFSZ, signal.SIGXCPU, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        user_changed = _become_nobody(parent)
        for what, pair in limits(caps, address_space()).items():
            resource.setrlimit(what, pair)
        for option, value in ((_PR_SET_NO_NEW_PRIVS, 1), (_PR_SET_DUMPABLE, 0)):
            if libc.prctl(option, value, 0, 0, 0) != 0:
                raise LockError(f"prctl {option}: {os.strerror(ctypes.get_errno())}")
        abi = 0
        if kind != "weak":
            abi = _install_landlock(libc, is_needed=kind == "full")
            seccomp.install(libc)
    except (OSError, ValueError, OverflowError) as error:
        raise LockError(str(error)) from error
    return Applied(landlock_abi=abi, user_changed=user_changed, seccomp=kind != "weak")


def _install_landlock(libc: ctypes.CDLL, *, is_needed: bool) -> int:  # pragma: no cover  (in a locked child)
    try:
        return landlock.install(libc)
    except OSError:
        if is_needed:
            raise
        return 0


def _become_nobody(parent: int) -> bool:  # pragma: no cover  (runs in a locked child)
    if os.geteuid() != 0:
        return False
    try:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    except OSError:
        # A strengthening only, and impossible in some containers.
        return False
    # The kernel forgets the parent-death signal when the user changes.
    die_with_parent(parent)
    return True
