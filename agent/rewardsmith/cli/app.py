"""The command tree, and what every command does about errors, interruptions and closed pipes."""

import errno
import logging
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from rewardsmith import __version__
from rewardsmith.cli import doctor, reward, run, runs, task
from rewardsmith.cli.console import note
from rewardsmith.errors import RewardsmithError

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXIT_STORAGE = 2

logger = logging.getLogger(__name__)


class Commands(typer.core.TyperGroup):
    """The root group: turns what commands raise into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except RewardsmithError as error:
            logger.debug("the error was raised here", exc_info=error)
            note(f"error: {error}")
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except OSError as error:
            raise typer.Exit(_output_failed(error)) from error
        return answer


def _output_failed(error: OSError) -> int:
    """Return the exit code where stdout or stderr cannot be written; other errors go on as they are."""
    if error.errno == errno.EPIPE:
        _discard_output()
        return EXIT_BROKEN_PIPE
    if error.errno == errno.ENOSPC:
        _discard_output(sys.stdout.fileno())
        note("error: the disk is full: cannot write the output; free space and try again")
        return EXIT_STORAGE
    raise error


def _discard_output(*descriptors: int) -> None:
    """Let nothing more be written, so that the last flush of the interpreter does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in descriptors or (1, 2):
        os.dup2(nowhere, descriptor)


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
app.add_typer(task.app, name="task", rich_help_panel="Set up")
doctor.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"rewardsmith {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Write a log, and the origin of errors, to stderr.")
    ] = False,
) -> None:
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr, force=True)
    logging.getLogger("rewardsmith").setLevel(logging.DEBUG if verbose else logging.WARNING)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def run_app() -> None:
    """Run the command line and end the process with its exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()
