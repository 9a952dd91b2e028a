"""`rewardsmith reward`: check and train a reward of one's own, or take one out of a run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rewardsmith.cli import reward_given
from rewardsmith.cli.console import note, plain, say_json, write
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption, RootOption, RunArgument
from rewardsmith.errors import ConfigError, RunFolderError

app = typer.Typer(help="Check or train a reward of your own; take one out of a run.", no_args_is_help=True)
app.command("check", epilog=reward_given.CHECK_EPILOG)(reward_given.check)
app.command("train", epilog=reward_given.TRAIN_EPILOG)(reward_given.train)


@app.command("export")
def export(
    run: RunArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write it; stdout if left out."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Overwrite FILE.")] = False,
    root: RootOption = DEFAULT_ROOT,
    as_json: JsonOption = False,
) -> None:
    """Write RUN's winner, or its best so far, as one Python file that needs only NumPy."""
    from rewardsmith.loop.candidates import Candidate
    from rewardsmith.loop.records import read_run, winner_of
    from rewardsmith.loop.run import reward_file
    from rewardsmith.services.journal.folder import find_run, write_text_atomic

    record = read_run(find_run(root, run))
    winner, proposal = winner_of(record)
    try:
        text = reward_file(record.folder, Candidate(id=winner, proposal=proposal))
    except RunFolderError as error:
        written = record.reward_path
        raise (RunFolderError(f"{error}; the run itself wrote {written}") if written else error) from error
    if out is not None:
        if out.exists() and not force:
            raise ConfigError(f"{out} exists; --force overwrites it")
        write_text_atomic(out, text)
        note(f"{winner} of {record.folder.name} written to {out}")
    if as_json:
        say_json(
            {"run": str(record.folder.path), "candidate": winner, "file": out and str(out), "source": text}
        )
    elif out is None:
        # The code comes from a model: a terminal gets it without anything that could steer it.
        shown = "".join(f"{plain(line)}\n" for line in text.splitlines()) if sys.stdout.isatty() else text
        write(shown)
