"""The system calls that a locked reward process may make, as a BPF program for seccomp.

Everything that is not listed fails with EPERM. There is no call that opens a file, makes a descriptor, a
process, a thread or a signal handler, or that reaches another process.
"""

import ctypes
import errno
import functools
import mmap
import os
import platform
import struct
from dataclasses import dataclass

ARCH_X86_64 = 0xC000003E
ARCH_AARCH64 = 0xC00000B7
_X32_BIT = 0x40000000

RET_KILL_PROCESS = 0x80000000
RET_ERRNO = 0x00050000
RET_ALLOW = 0x7FFF0000

LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
JUMP_EQUAL = 0x15
JUMP_AT_LEAST = 0x35
JUMP_ANY_BIT = 0x45
AND = 0x54
RETURN = 0x06

_NR_OFFSET, _ARCH_OFFSET, _ARGS_OFFSET = 0, 4, 16
_MAP_STACK = 0x20000
_MMAP_NEEDED = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_MMAP_FLAGS = _MMAP_NEEDED | getattr(mmap, "MAP_NORESERVE", 0x4000) | _MAP_STACK

_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1


@dataclass(frozen=True)
class Machine:
    """System call numbers of one processor architecture."""

    audit_arch: int
    seccomp: int
    plain: tuple[int, ...]
    """Allowed whatever the arguments."""
    futex: int
    mmap: int
    mprotect: int
    no_file: tuple[int, ...]
    """Refused with EACCES, which Python reports as a permission error of that file."""
    no_system_call: tuple[int, ...]
    """Refused with ENOSYS, on which the C library falls back to an older call."""


# read, write, clock_gettime, munmap, mremap, madvise, brk, rt_sigreturn, exit, exit_group,
# gettimeofday, time, nanosleep, clock_nanosleep, restart_syscall, getrandom, sched_yield, getpid, getppid,
# gettid
_X86_64 = Machine(
    audit_arch=ARCH_X86_64,
    seccomp=317,
    plain=(0, 1, 228, 11, 25, 28, 12, 15, 60, 231, 96, 201, 35, 230, 219, 318, 24, 39, 110, 186),
    futex=202,
    mmap=9,
    mprotect=10,
    no_file=(2, 85, 257, 437),  # open, creat, openat, openat2
    no_system_call=(435,),  # clone3
)
# The same; there is no `time`, `open` or `creat`.
_AARCH64 = Machine(
    audit_arch=ARCH_AARCH64,
    seccomp=277,
    plain=(63, 64, 113, 215, 216, 233, 214, 139, 93, 94, 169, 101, 115, 128, 278, 124, 172, 173, 178),
    futex=98,
    mmap=222,
    mprotect=226,
    no_file=(56, 437),
    no_system_call=(435,),
)
MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand: a `struct sock_filter`."""


def machine() -> Machine:
    """Return the numbers for this processor.

    Raises:
        OSError: there is no list for it.
    """
    name = platform.machine()
    if name not in MACHINES:
        raise OSError(errno.ENOSYS, f"no system call list for processor {name!r}")
    return MACHINES[name]


def program(numbers: Machine) -> list[Instruction]:
    """Return the filter for one architecture."""
    code: list[Instruction] = [
        (LOAD, 0, 0, _ARCH_OFFSET),
        (JUMP_EQUAL, 1, 0, numbers.audit_arch),
        (RETURN, 0, 0, RET_KILL_PROCESS),
        (LOAD, 0, 0, _NR_OFFSET),
    ]
    if numbers.audit_arch == ARCH_X86_64:
        code += [(JUMP_AT_LEAST, 0, 1, _X32_BIT), (RETURN, 0, 0, RET_KILL_PROCESS)]
    for number in numbers.plain:
        code += _on(number, [(RETURN, 0, 0, RET_ALLOW)])
    code += _on(numbers.futex, _FUTEX_RULE)
    code += _on(numbers.mmap, _MMAP_RULE)
    code += _on(numbers.mprotect, _MPROTECT_RULE)
    for number in numbers.no_file:
        code += _on(number, [(RETURN, 0, 0, RET_ERRNO | errno.EACCES)])
    for number in numbers.no_system_call:
        code += _on(number, [(RETURN, 0, 0, RET_ERRNO | errno.ENOSYS)])
    return [*code, _DENY]


def assemble(code: list[Instruction]) -> bytes:
    """Return the program as the kernel reads it."""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


@functools.cache
def prepared() -> tuple[int, bytes]:
    """Return the number of the system call and the program for this processor; worth calling before a fork.

    Raises:
        OSError: there is no list for this processor.
    """
    numbers = machine()
    return numbers.seccomp, assemble(program(numbers))


def install(libc: ctypes.CDLL) -> None:  # pragma: no cover  (runs in a locked child)
    """Apply the filter to this process, for good.

    Raises:
        OSError: the kernel refused.
    """
    number, code = prepared()
    buffer = ctypes.create_string_buffer(code, len(code))
    fprog = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer)))
    ctypes.set_errno(0)
    result = libc.syscall(
        ctypes.c_long(number),
        ctypes.c_ulong(_SECCOMP_SET_MODE_FILTER),
        ctypes.c_ulong(_SECCOMP_FILTER_FLAG_TSYNC),
        ctypes.byref(fprog),
    )
    if result != 0:
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _on(number: int, rule: list[Instruction]) -> list[Instruction]:
    return [(JUMP_EQUAL, 0, len(rule), number), *rule]


def _argument(index: int, high: bool = False) -> Instruction:
    # Both architectures are little-endian: the low half of a 64-bit argument comes first.
    return (LOAD, 0, 0, _ARGS_OFFSET + 8 * index + (4 if high else 0))


_DENY: Instruction = (RETURN, 0, 0, RET_ERRNO | errno.EPERM)
_ALLOW: Instruction = (RETURN, 0, 0, RET_ALLOW)

_MMAP_RULE: list[Instruction] = [
    _argument(2),
    (JUMP_ANY_BIT, 6, 0, mmap.PROT_EXEC),
    _argument(3, high=True),
    (JUMP_EQUAL, 0, 4, 0),
    _argument(3),
    (JUMP_ANY_BIT, 2, 0, ~_MMAP_FLAGS & 0xFFFFFFFF),
    (AND, 0, 0, _MMAP_NEEDED),
    (JUMP_EQUAL, 1, 0, _MMAP_NEEDED),
    _DENY,
    _ALLOW,
]
_FUTEX_FLAGS = 128 | 256  # private, real-time clock
# Wait and wake, with and without a mask. Those that hand a lock on name threads of the whole machine.
_FUTEX_RULE: list[Instruction] = [
    _argument(1),
    (AND, 0, 0, ~_FUTEX_FLAGS & 0xFFFFFFFF),
    (JUMP_EQUAL, 4, 0, 0),
    (JUMP_EQUAL, 3, 0, 1),
    (JUMP_EQUAL, 2, 0, 9),
    (JUMP_EQUAL, 1, 0, 10),
    (RETURN, 0, 0, RET_ERRNO | errno.ENOSYS),
    _ALLOW,
]
_MPROTECT_RULE: list[Instruction] = [
    _argument(2),
    (JUMP_ANY_BIT, 0, 1, mmap.PROT_EXEC),
    _DENY,
    _ALLOW,
]
