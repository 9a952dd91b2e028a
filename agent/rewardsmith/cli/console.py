"""Words, tables and JSON for people and pipes: results on stdout, everything else on stderr."""

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from rewardsmith.errors import StorageError

PIPE_WIDTH = 200
"""Columns of a table that no terminal shows; wide enough that no cell is cut."""

_PLAIN_TERMINALS = ("", "dumb", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        title: its heading.
        align: where its cells stand.
        from_width: narrower terminals leave the column out.
        fold: whether long cells are wrapped; others are cut with an ellipsis.
    """

    title: str
    align: Literal["left", "right"] = "left"
    from_width: int = 0
    fold: bool = False


def plain(text: str) -> str:
    """Return text as one line that cannot steer a terminal; its indentation stays."""
    from rewardsmith.services.sandbox.untrusted import clean

    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + re.sub(r"[\n\t]+", " ", clean(text, limit=len(text) + 1))


class ClosedOutputError(Exception):
    """Raised when whoever reads stdout or stderr has gone away."""


def write(text: str, stream: TextIO | None = None) -> None:
    """Write text to stdout, or to another stream, as it is.

    Raises:
        ClosedOutputError: no one reads it any more.
        StorageError: it goes to a disk that is full or not writable.
    """
    stream = stream or sys.stdout
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise ClosedOutputError from None
    except OSError as error:
        raise StorageError(f"cannot write the output: {error.strerror}") from error


def say(text: str = "") -> None:
    """Write one line of a result to stdout."""
    write((plain(text) if text else "") + "\n")


def note(text: str) -> None:
    """Write one line that is not part of a result to stderr."""
    write(plain(text) + "\n", sys.stderr)


def say_json(document: Any) -> None:
    """Write one JSON document to stdout."""
    write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def say_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to stdout, as wide as the terminal allows."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = output_width()
    shown = [index for index, column in enumerate(columns) if column.from_width <= width]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index in shown:
        column = columns[index]
        overflow: Literal["fold", "ellipsis"] = "fold" if column.fold else "ellipsis"
        table.add_column(column.title, justify=column.align, overflow=overflow, no_wrap=not column.fold)
    for row in rows:
        table.add_row(*(Text(plain(row[index])) for index in shown))
    buffer = io.StringIO()
    styled = can_style(sys.stdout)
    console = Console(
        file=buffer, width=width, force_terminal=styled, color_system="standard" if styled else None
    )
    console.print(table)
    write("".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines()))


def output_width() -> int:
    """Return how many columns stdout has."""
    fallback = 80 if sys.stdout.isatty() else PIPE_WIDTH
    return max(20, shutil.get_terminal_size((fallback, 24)).columns)


def can_style(stream: TextIO) -> bool:
    """Return whether a stream is a terminal whose user wants more than plain text."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in _PLAIN_TERMINALS:
        return False
    return stream.isatty()


def number(value: float | None, digits: int = 2) -> str:
    """Return a number for a table, `-` where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def plural(n: int, noun: str) -> str:
    """Return a number with its noun: `1 seed`, `2 seeds`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def count(value: int | None) -> str:
    """Return a whole number with its thousands apart, `-` where there is none."""
    return "-" if value is None else f"{value:,}"
