"""The parts of the lock: the BPF program, Landlock's attributes, the resource limits."""

import contextlib
import ctypes
import errno
import mmap
import os
import platform
import resource
import struct
import threading

import pytest

from rewardsmith.worker.reward import landlock, lock, seccomp, zygote

ALLOW, KILL = seccomp.RET_ALLOW, seccomp.RET_KILL_PROCESS
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE


def denied(number):
    return seccomp.RET_ERRNO | number


def run(code, data):
    """Interpret a BPF program over a `struct seccomp_data`."""
    accumulator, position = 0, 0
    while True:
        operation, if_true, if_false, operand = code[position]
        position += 1
        if operation == seccomp.RETURN:
            return operand
        if operation == seccomp.LOAD:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif operation == seccomp.AND:
            accumulator &= operand
        else:
            true = {
                seccomp.JUMP_EQUAL: accumulator == operand,
                seccomp.JUMP_AT_LEAST: accumulator >= operand,
                seccomp.JUMP_ANY_BIT: bool(accumulator & operand),
            }[operation]
            position += if_true if true else if_false


def verdict(machine, number, *args, arch=None):
    arch = machine.audit_arch if arch is None else arch
    data = struct.pack("<IIQ6Q", number, arch, 0, *args, *[0] * (6 - len(args)))
    return run(seccomp.program(machine), data)


@pytest.fixture(params=sorted(seccomp.MACHINES))
def machine(request):
    return seccomp.MACHINES[request.param]


def test_listed_calls_are_allowed_and_all_others_denied(machine):
    special = {machine.mmap, machine.mprotect, machine.futex, *machine.no_file, *machine.no_system_call}
    for number in range(600):
        if number in machine.plain:
            assert verdict(machine, number) == ALLOW
        elif number not in special:
            assert verdict(machine, number) == denied(errno.EPERM)


@pytest.mark.parametrize("flags", [0, 128, 256, 128 | 256])
def test_of_futexes_only_waiting_and_waking_is_allowed(machine, flags):
    allowed = {0, 1, 9, 10}
    for operation in range(16):
        expected = ALLOW if operation in allowed else denied(errno.ENOSYS)
        assert verdict(machine, machine.futex, 0, operation | flags) == expected
    assert verdict(machine, machine.futex, 0, 1 << 9) == denied(errno.ENOSYS)


def test_files_are_refused_as_files_are(machine):
    assert {verdict(machine, number) for number in machine.no_file} == {denied(errno.EACCES)}
    assert {verdict(machine, number) for number in machine.no_system_call} == {denied(errno.ENOSYS)}


def test_another_architecture_kills(machine):
    for arch in (0x40000003, 0, seccomp.ARCH_X86_64 ^ seccomp.ARCH_AARCH64):
        assert verdict(machine, machine.plain[0], arch=arch) == KILL


def test_x32_calls_kill():
    machine = seccomp.MACHINES["x86_64"]
    assert verdict(machine, 0x40000000) == KILL
    assert verdict(machine, 0x40000027) == KILL
    assert verdict(machine, 0xFFFFFFFF) == KILL


@pytest.mark.parametrize(
    ("protection", "flags", "allowed"),
    [
        (READ_WRITE, PRIVATE, True),
        (mmap.PROT_READ, PRIVATE | 0x4000, True),
        (READ_WRITE, PRIVATE | 0x20000, True),
        (READ_WRITE | mmap.PROT_EXEC, PRIVATE, False),
        (READ_WRITE, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, False),
        (READ_WRITE, mmap.MAP_PRIVATE, False),
        (READ_WRITE, mmap.MAP_SHARED, False),
        (READ_WRITE, 0x03 | mmap.MAP_ANONYMOUS, False),
        (READ_WRITE, PRIVATE | 0x10, False),
        (READ_WRITE, PRIVATE | 0x40000, False),
        (READ_WRITE, PRIVATE | 1 << 32, False),
    ],
)
def test_only_private_anonymous_memory_is_mapped(machine, protection, flags, allowed):
    result = verdict(machine, machine.mmap, 0, 4096, protection, flags)
    assert result == (ALLOW if allowed else denied(errno.EPERM))


def test_memory_is_not_made_executable(machine):
    assert verdict(machine, machine.mprotect, 0, 4096, READ_WRITE) == ALLOW
    assert verdict(machine, machine.mprotect, 0, 4096, mmap.PROT_EXEC) == denied(errno.EPERM)


def test_the_program_is_what_the_kernel_reads():
    number, code = seccomp.prepared()
    assert number == seccomp.machine().seccomp
    assert len(code) % 8 == 0
    assert code[:8] == struct.pack("<HBBI", 0x20, 0, 0, 4)


def test_an_unknown_processor_is_refused(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "sparc")
    with pytest.raises(OSError, match="sparc"):
        seccomp.machine()


@pytest.mark.parametrize(
    ("abi", "attributes"),
    [
        (1, (0x1FFF,)),
        (2, (0x3FFF,)),
        (3, (0x7FFF,)),
        (4, (0x7FFF, 3)),
        (5, (0xFFFF, 3)),
        (6, (0xFFFF, 3, 3)),
        (9, (0xFFFF, 3, 3)),
    ],
)
def test_landlock_denies_all_that_the_kernel_knows(abi, attributes):
    assert landlock.ruleset(abi) == struct.pack(f"<{len(attributes)}Q", *attributes)


def test_a_kernel_without_landlock_is_an_error():
    class NoLandlock:
        @staticmethod
        def syscall(*_):
            ctypes.set_errno(errno.ENOSYS)
            return -1

    with pytest.raises(OSError, match="Landlock"):
        landlock.abi_version(NoLandlock())


def in_a_child(act):
    """Return the exit code of a forked child that runs `act`."""
    pid = os.fork()
    if pid == 0:
        code = 9
        with contextlib.suppress(BaseException):
            code = act()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_landlock_alone_denies_files():
    def act():
        libc = ctypes.CDLL(None, use_errno=True)
        os.close(os.open("/etc/passwd", os.O_RDONLY))
        libc.prctl(38, 1, 0, 0, 0)
        landlock.install(libc)
        try:
            os.open("/etc/passwd", os.O_RDONLY)
        except PermissionError:
            return 3
        return 4

    assert in_a_child(act) == 3


def test_seccomp_alone_denies_files():
    def act():
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)
        seccomp.install(libc)
        try:
            os.open("/etc/passwd", os.O_RDONLY)
        except PermissionError:
            return 3
        return 4

    assert in_a_child(act) == 3


def test_limits_leave_a_signal_before_the_hard_cpu_limit():
    table = lock.limits(lock.Caps(cpu_s=7, memory_bytes=1000, output_bytes=500), address_space=2000)
    assert table[resource.RLIMIT_CPU] == (7, 8)
    assert table[resource.RLIMIT_AS] == (3000, 3000)
    assert table[resource.RLIMIT_FSIZE] == (500, 500)
    assert table[resource.RLIMIT_NPROC] == table[resource.RLIMIT_CORE] == (0, 0)
    assert 0 < table[resource.RLIMIT_STACK][0] <= 8 * 1024 * 1024


@pytest.mark.parametrize(("hard", "wanted"), [(resource.RLIM_INFINITY, 8 * 1024 * 1024), (4096, 4096)])
def test_the_stack_limit_is_never_raised(monkeypatch, hard, wanted):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (hard, hard))
    caps = lock.Caps(cpu_s=1, memory_bytes=1, output_bytes=1)
    assert lock.limits(caps, 0)[resource.RLIMIT_STACK] == (wanted, wanted)


def test_the_address_space_is_read():
    before = lock.address_space()
    held = mmap.mmap(-1, 64 * 1024 * 1024)
    assert lock.address_space() >= before + len(held)


def test_everything_but_the_pipes_is_closed(monkeypatch):
    closed = []
    monkeypatch.setattr(os, "closerange", lambda low, high: closed.append((low, high)))
    lock.close_all_but((9, 5))
    assert closed[:2] == [(3, 5), (6, 9)]
    assert closed[2][0] == 10


def test_a_process_with_threads_is_not_locked():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with pytest.raises(lock.LockError, match="threads"):
            lock.require_one_thread()
    finally:
        done.set()
        thread.join()


def test_warming_up_loads_what_numpy_loads_late():
    import sys
    import warnings

    import numpy as np

    with np.errstate(), warnings.catch_warnings():
        zygote.warm_up()
    assert {"numpy.fft", "numpy.ma", "unicodedata"} <= set(sys.modules)
