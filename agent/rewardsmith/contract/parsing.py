"""Parses Python in one thread at a time."""

import ast
import threading

_LOCK = threading.Lock()


def parse_python(source: str) -> ast.Module:
    """Return the syntax tree of a module.

    CPython 3.11 counts the depth of its tree in a place that all threads share: where garbage collection lets
    another thread in while both parse, it raises SystemError about code that is right.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: as `ast.parse` does.
    """
    with _LOCK:
        return ast.parse(source)
