import io
import os
import pty
import sys
import threading
from contextlib import suppress

import pytest
from cli_runs import searched_run

from rewardsmith.cli.console import plain, say_table
from rewardsmith.cli.options import DEFAULT_ROOT, SandboxChoice
from rewardsmith.cli.progress import LiveReporter, PlainReporter, open_reporter
from rewardsmith.cli.runs import _COLUMNS, _cells, _summary


class Terminal:
    """A terminal that keeps what is written to it."""

    def __init__(self):
        self._ours, theirs = pty.openpty()
        self.stream = os.fdopen(theirs, "w")
        self._parts: list[bytes] = []
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self):
        # Linux answers EIO once no one holds the other end.
        with suppress(OSError):
            while data := os.read(self._ours, 65_536):
                self._parts.append(data)

    def shown(self):
        self.stream.close()
        self._reader.join(timeout=10)
        os.close(self._ours)
        return b"".join(self._parts).decode()


@pytest.fixture
def as_terminal(monkeypatch):
    """Return a function that makes stderr a terminal from then on."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def attach():
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        return terminal

    return attach


def report(reporter):
    reporter.line("  [bold]a line[/bold]")
    reporter.begin("i01/c00", "i01c00", 100)
    reporter.advance("i01/c00", 50, "fitness 0.50")
    reporter.end("i01/c00")


def test_a_terminal_gets_bars_and_its_cursor_back(as_terminal):
    terminal = as_terminal()
    with open_reporter() as reporter:
        assert isinstance(reporter, LiveReporter)
        report(reporter)
    text = terminal.shown()

    assert "  [bold]a line[/bold]" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1


def test_an_interruption_gives_the_cursor_back(as_terminal):
    terminal = as_terminal()
    with pytest.raises(KeyboardInterrupt), open_reporter():
        raise KeyboardInterrupt
    text = terminal.shown()

    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_plain_text_gets_it(as_terminal, monkeypatch, name, value):
    terminal = as_terminal()
    monkeypatch.setenv(name, value)
    with open_reporter() as reporter:
        assert isinstance(reporter, PlainReporter)
        report(reporter)

    assert terminal.shown() == "  [bold]a line[/bold]\r\n  i01c00  50/100  fitness 0.50\r\n"


def test_a_pipe_gets_a_line_for_every_step(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with open_reporter() as reporter:
        report(reporter)

    assert stream.getvalue() == "  [bold]a line[/bold]\n  i01c00  50/100  fitness 0.50\n"


def test_plain_text_is_one_line_and_keeps_its_indentation_and_spaces():
    assert plain("  a  path\nwith\x1b[31m colour\x1b[0m") == "  a  path with colour"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_table_fits_its_terminal(tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    searched_run(tmp_path, "a-run-with-a-name-that-is-rather-long-20261130-120000")

    say_table(_COLUMNS, [_cells(_summary(next(tmp_path.iterdir())))])

    assert all(len(line) <= columns for line in stream.getvalue().splitlines())
    assert "interrupted" in stream.getvalue()


def test_the_options_agree_with_the_services():
    from typing import get_args

    from rewardsmith.config import SandboxName
    from rewardsmith.services.journal import folder

    assert [choice.value for choice in SandboxChoice] == list(get_args(SandboxName))
    assert folder.DEFAULT_ROOT == DEFAULT_ROOT
