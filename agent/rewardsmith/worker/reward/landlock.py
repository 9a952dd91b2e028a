"""Landlock: a second wall around the reward process, with no rule that allows anything."""

import ctypes
import os
import struct

_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same on every architecture
_VERSION_FLAG = 1

_FS_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""File rights known from each ABI on: all up to MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV."""
_NET_RIGHTS = {4: 0b11}
"""Bind and connect of TCP."""
_SCOPES = {6: 0b11}
"""Abstract Unix sockets and signals."""


def ruleset(abi: int) -> bytes:
    """Return the attributes that deny all that a kernel with this ABI can deny."""
    fs, net, scopes = (_latest(table, abi) for table in (_FS_RIGHTS, _NET_RIGHTS, _SCOPES))
    if abi >= 6:
        return struct.pack("<QQQ", fs, net, scopes)
    if abi >= 4:
        return struct.pack("<QQ", fs, net)
    return struct.pack("<Q", fs)


def abi_version(libc: ctypes.CDLL) -> int:
    """Return the kernel's Landlock ABI.

    Raises:
        OSError: there is no Landlock.
    """
    return _call(libc, _CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))


def install(libc: ctypes.CDLL) -> int:  # pragma: no cover  (runs in a locked child)
    """Apply the empty rule set to this process, for good, and return the ABI.

    Raises:
        OSError: the kernel refused.
    """
    abi = abi_version(libc)
    attributes = ruleset(abi)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    fd = _call(libc, _CREATE_RULESET, buffer, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        _call(libc, _RESTRICT_SELF, ctypes.c_int(fd), ctypes.c_uint32(0))
    finally:
        os.close(fd)
    return abi


def _latest(table: dict[int, int], abi: int) -> int:
    return max((value for since, value in table.items() if since <= abi), default=0)


def _call(libc: ctypes.CDLL, number: int, *args: object) -> int:
    ctypes.set_errno(0)
    result: int = libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
