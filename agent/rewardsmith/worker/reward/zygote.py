"""The fork server of reward processes: `python -m ...worker.reward.zygote [raw] [LOCK] CONTROL`.

CONTROL is the number of a connected socket, or the path of one to connect to. LOCK is how much of a lock is
put on: `full`, `contained` or `weak`.

A locked process can open no file, so everything that NumPy and Python would load later is loaded here.
"""

import contextlib
import ctypes
import functools
import gc
import importlib
import os
import socket
import sys
import warnings
from collections.abc import Sequence
from typing import get_args

import numpy as np

from rewardsmith.worker import forkserver
from rewardsmith.worker.reward import lock, seccomp
from rewardsmith.worker.reward.namespace import RAW_MODULES
from rewardsmith.worker.reward.server import run_job

LATE_MODULES = (
    "numpy.linalg", "numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.lib.stride_tricks",
    "numpy.lib.scimath", "numpy.strings", "numpy.char", "numpy._core._internal", "numpy._core._methods",
    "numpy._core._dtype",
    "numpy._core._exceptions", "numpy._core._ufunc_config", "numpy._core.arrayprint",
    "numpy._core.einsumfunc", "numpy._core.printoptions", "traceback", "linecache", "unicodedata",
    "encodings.unicode_escape", "collections.abc", "textwrap", "string", "re",
)  # fmt: skip
"""Imported by NumPy or Python on first use of something."""


def warm_up() -> None:
    """Load what is loaded late, and make NumPy allocate and cache what it does on first use."""
    for name in LATE_MODULES:
        importlib.import_module(name)
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    matrix = np.eye(64)
    np.linalg.solve(matrix, matrix @ matrix)
    np.linalg.svd(np.eye(3))
    np.fft.rfft(np.ones(8))
    np.einsum("ij,jk->ik", np.eye(2), np.eye(2))
    np.median(np.ones((3, 3)), axis=0)
    np.unique(np.ones(3))
    # An array's method looks for its Python half at its first call, by the import function of its caller.
    for method in ("all", "any", "max", "mean", "min", "prod", "std", "sum", "var"):
        getattr(np.ones(3), method)()
    np.ones(3).clip(0.0, 1.0)
    repr(np.ones(3)) + f"{np.float64(1.5):.2f}{np.ones(2, dtype=bool)}"
    with contextlib.suppress(ValueError):
        np.ones(2) + np.ones(3)
    compile("é = 1", "<warm>", "exec")
    with contextlib.suppress(OSError):
        seccomp.prepared()


def main(arguments: Sequence[str]) -> None:  # pragma: no cover  (a process of its own)
    """Serve until the driver closes the control socket."""
    raw = "raw" in arguments[:-1]
    kind: lock.Kind = next((known for known in get_args(lock.Kind) if known in arguments[:-1]), "full")
    warm_up()
    if raw:
        for name in RAW_MODULES:
            importlib.import_module(name)
    forget_environment()
    gc.collect()
    gc.freeze()
    with connect(arguments[-1]) as control:
        forkserver.serve(control, functools.partial(run_job, raw=raw, kind=kind))


def forget_environment() -> None:
    """Wipe the environment, also where it lies on the stack, which every fork inherits.

    Some of it may have been set by a container's engine, not by us.
    """
    pointers = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    index = 0
    while pointers and (address := pointers[index]) is not None:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
        index += 1
    os.environ.clear()


def connect(control: str) -> socket.socket:
    """Return the control socket: one that was inherited, by its number, or one to connect to, by its path."""
    if control.isdecimal():
        return socket.socket(fileno=int(control))
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(control)
    return connection


if __name__ == "__main__":
    main(sys.argv[1:])
