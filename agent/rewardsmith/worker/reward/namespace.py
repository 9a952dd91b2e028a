"""The one namespace in which candidate code runs: `np`, `math` and the builtins listed here."""

import builtins
import math
from typing import Any

import numpy as np

ENTRY = "compute_reward"
POTENTIAL = "potential"
IMPORTABLE = ("numpy", "math")
"""Modules that an import statement may name; what it binds is there anyway."""

_ALLOWED_BUILTINS_WORDS = """
abs all any bool complex dict divmod enumerate filter float frozenset int isinstance iter len list map
max min next object pow range reversed round set slice sorted str sum tuple zip
False None True Ellipsis NotImplemented
ArithmeticError AssertionError AttributeError Exception FloatingPointError IndexError KeyError
LookupError NotImplementedError OverflowError RuntimeError StopIteration TypeError ValueError
ZeroDivisionError
"""
ALLOWED_BUILTINS = frozenset(_ALLOWED_BUILTINS_WORDS.split())

RAW_MODULES = (
    "asyncio", "concurrent.futures", "ctypes", "ctypes.util", "errno", "fcntl", "gc", "getpass", "glob",
    "inspect", "io", "json", "marshal", "mmap", "multiprocessing", "multiprocessing.shared_memory",
    "numpy.random", "os", "pathlib", "pickle", "platform", "pwd", "random", "resource", "select", "shutil",
    "signal", "site", "socket", "struct", "subprocess", "sys", "sysconfig", "tempfile", "threading", "time",
    "traceback", "types", "urllib.request", "warnings", "weakref",
)  # fmt: skip
"""Loaded before the lock when it is tested with static checks off, so that a refusal is the lock's own."""


def _import(name: str, *_: Any, **__: Any) -> Any:
    if name == "numpy":
        return np
    if name == "math":
        return math
    raise ImportError(f"only {' and '.join(IMPORTABLE)} can be imported here, not {name!r}")


def candidate_namespace(raw: bool = False) -> dict[str, Any]:
    """Return a fresh namespace for a candidate's module.

    Args:
        raw: give full builtins and real imports instead; for tests of the lock.
    """
    if raw:
        return {"__name__": "reward", "__builtins__": builtins, "np": np, "math": math}
    allowed = {name: getattr(builtins, name) for name in ALLOWED_BUILTINS}
    allowed["__import__"] = _import
    return {"__name__": "reward", "__builtins__": allowed, "np": np, "numpy": np, "math": math}
