"""The command tree, and what every command does about errors, interruptions and closed pipes."""

import errno
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from rewardsmith import __version__
from rewardsmith.cli import bench, doctor, method, reward, run, runs, sandbox, task
from rewardsmith.cli.console import ClosedOutputError, note, write
from rewardsmith.errors import RewardsmithError, StorageError

EXIT_BROKEN_PIPE = 141

logger = logging.getLogger(__name__)


class Commands(typer.core.TyperGroup):
    """The root group: turns what commands raise into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except RewardsmithError as error:
            logger.debug("the error was raised here", exc_info=error)
            _discard_unwritten()
            note(f"error: {error}")
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(run.EXIT_INTERRUPTED) from None
        except ClosedOutputError:
            _discard_unwritten()
            raise typer.Exit(EXIT_BROKEN_PIPE) from None
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            note(f"error: the disk is full: {error}; free space and try again")
            raise typer.Exit(StorageError.exit_code) from error


def _discard_unwritten() -> None:
    """Let what could not be written go, so that the last flush of the interpreter does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


app = typer.Typer(
    name="rewardsmith",
    cls=Commands,
    help="Turn a sentence into a reward function for a Gymnasium environment, with evidence that it works.",
    epilog="Examples:\n\n"
    "  rewardsmith doctor\n\n"
    "  rewardsmith task list\n\n"
    "  rewardsmith run classic/pendulum --iterations 2\n\n"
    "  rewardsmith runs show classic-pendulum\n\n"
    "  rewardsmith reward export classic-pendulum -o reward.py",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
run.register(app)
app.add_typer(runs.app, name="runs", rich_help_panel=run.PANEL)
app.add_typer(reward.app, name="reward", rich_help_panel=run.PANEL)
app.add_typer(method.app, name="method", rich_help_panel=run.PANEL)
app.add_typer(bench.app, name="bench", rich_help_panel=run.PANEL)
app.add_typer(task.app, name="task", rich_help_panel="Set up")
app.add_typer(sandbox.app, name="sandbox", rich_help_panel="Set up")
doctor.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"rewardsmith {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", metavar="", help="Write a log, and the origin of errors, to stderr."),
    ] = False,
) -> None:
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr, force=True)
    logging.getLogger("rewardsmith").setLevel(logging.DEBUG if verbose else logging.WARNING)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def run_app() -> None:
    """Run the command line and end the process with its exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    # A stream that the caller has closed is None.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  (lives as long as the process)
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()
