"""How the loop tells a person what it does; what it decides stands in the journal."""

from typing import Protocol


class Reporter(Protocol):
    """Shows progress. Calls may come from several threads."""

    def line(self, text: str) -> None:
        """Say one thing that has happened."""
        ...

    def begin(self, key: str, label: str, total: int) -> None:
        """Start to show work of `total` steps."""
        ...

    def advance(self, key: str, done: int, note: str = "") -> None:
        """Say how many steps of it are done."""
        ...

    def end(self, key: str) -> None:
        """Stop showing it."""
        ...


class SilentReporter:
    """Shows nothing."""

    def line(self, text: str) -> None:
        """Ignore it."""

    def begin(self, key: str, label: str, total: int) -> None:
        """Ignore it."""

    def advance(self, key: str, done: int, note: str = "") -> None:
        """Ignore it."""

    def end(self, key: str) -> None:
        """Ignore it."""
