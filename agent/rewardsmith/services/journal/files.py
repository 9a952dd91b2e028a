"""Durable files: written whole or not at all, and one clear error where the disk refuses."""

import errno
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from rewardsmith.errors import StorageError

TEMPORARY_PREFIX = ".tmp-"
"""How the name of a file starts that is still being written."""

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
_NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}


def storage_error(error: OSError, path: Path, *, remedy: str = "try again") -> StorageError:
    """Return what to tell the user, in one line, where writing `path` failed.

    Args:
        error: what the operating system answered.
        path: the file or folder that could not be written.
        remedy: what to do once the cause is gone, as it follows "free space and ".
    """
    if error.errno in _DISK_FULL:
        return StorageError(f"the disk is full: cannot write {path}; free space and {remedy}")
    reason = error.strerror or str(error)
    if error.errno in _NOT_WRITABLE:
        return StorageError(f"cannot write {path}: {reason}; make it writable and {remedy}")
    return StorageError(f"cannot write {path}: {reason}; mend that and {remedy}")


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create `folder` and its parents where they are missing, durably.

    Raises:
        StorageError: the folder cannot be created.
    """
    if folder.is_dir():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise storage_error(error, folder) from error


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that becomes `path` when the block ends well, and vanishes when it does not.

    Raises:
        StorageError: the disk is full or not writable; `path` is as it was before.
    """
    # Not `tempfile`: its files are readable by their owner alone, whatever the umask says.
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise storage_error(error, path) from error
    finally:
        # On a read-only disk even removing what does not exist fails, and would hide the first error.
        with suppress(OSError):
            temporary.unlink()


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Write `path` whole or not at all.

    Raises:
        StorageError: the disk is full or not writable; `path` is as it was before.
    """
    with atomic_file(path) as file:
        file.write(data)


def write_text_atomic(path: Path, text: str) -> None:
    """Write `path` as UTF-8, whole or not at all.

    Raises:
        StorageError: the disk is full or not writable; `path` is as it was before.
    """
    write_bytes_atomic(path, text.encode())


def write_json_atomic(path: Path, obj: Any) -> None:
    """Write `path` as indented JSON, whole or not at all.

    Raises:
        StorageError: the disk is full or not writable; `path` is as it was before.
        TypeError: `obj` holds something that JSON has no form for.
        ValueError: `obj` holds NaN or an infinity.
    """
    write_text_atomic(path, json.dumps(obj, indent=2, allow_nan=False) + "\n")
