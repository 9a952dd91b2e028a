"""Progress of a run on stderr: live bars in a terminal, plain lines anywhere else."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rewardsmith.cli.console import can_style, note, plain
from rewardsmith.loop.reporter import Reporter

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class PlainReporter:
    """Writes one line for everything that happens."""

    def __init__(self) -> None:
        self._labels: dict[str, tuple[str, int]] = {}
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        """Write it."""
        with self._lock:
            note(text)

    def begin(self, key: str, label: str, total: int) -> None:
        """Remember what later lines are about."""
        with self._lock:
            self._labels[key] = (label, total)

    def advance(self, key: str, done: int, note: str = "") -> None:
        """Write how far it is."""
        with self._lock:
            label, total = self._labels.get(key, (key, done))
        self.line(f"  {label}  {done}/{total}  {note}")

    def end(self, key: str) -> None:
        """Forget it."""
        with self._lock:
            self._labels.pop(key, None)


class LiveReporter:
    """Keeps a bar for all that is going on below the lines of what has happened."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        """Write it above the bars."""
        self._progress.console.print(plain(text))

    def begin(self, key: str, label: str, total: int) -> None:
        """Add a bar."""
        with self._lock:
            self._bars[key] = self._progress.add_task(plain(label), total=total, note="")

    def advance(self, key: str, done: int, note: str = "") -> None:
        """Move its bar."""
        with self._lock:
            if key in self._bars:
                self._progress.update(self._bars[key], completed=done, note=plain(note))

    def end(self, key: str) -> None:
        """Remove its bar."""
        with self._lock:
            if key in self._bars:
                self._progress.remove_task(self._bars.pop(key))


@contextmanager
def open_reporter() -> Iterator[Reporter]:
    """Yield a reporter that suits stderr; the terminal is restored however the block ends."""
    # Log lines and bars would overwrite each other.
    is_verbose = logging.getLogger("rewardsmith").isEnabledFor(logging.DEBUG)
    if is_verbose or not can_style(sys.stderr):
        yield PlainReporter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True, markup=False, highlight=False, emoji=False),
        transient=True,
        redirect_stdout=False,
    )
    with progress:
        yield LiveReporter(progress)
