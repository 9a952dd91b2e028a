"""Parses Python in one thread at a time."""

import ast
import threading
import warnings

_LOCK = threading.Lock()


def parse_python(source: str) -> ast.Module:
    """Return the syntax tree of a module, without the warnings that its text may cause.

    CPython 3.11 counts the depth of its tree in a place that all threads share: where garbage collection lets
    another thread in while both parse, it raises SystemError about code that is right.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: as `ast.parse` does.
    """
    # Filters of warnings belong to all threads as well.
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
