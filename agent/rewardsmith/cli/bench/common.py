"""What the commands of `rewardsmith bench` share: options, and running a campaign."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardsmith.cli.console import note
from rewardsmith.cli.run import usable_cores

if TYPE_CHECKING:
    from rewardsmith.campaign.cells import Cell
    from rewardsmith.campaign.running import Outcome

EXIT_UNFINISHED = 3

TASKS = ("classic/pendulum", "classic/mountain-car", "classic/acrobot", "metaworld/drawer-open")
QUICK_TASKS = ("classic/mountain-car", "classic/acrobot")
QUICK_SEEDS = 2

TasksOption = Annotated[
    list[str] | None, typer.Option("--task", metavar="TASK", help="A task; may be given often.")
]
SeedsOption = Annotated[
    int | None, typer.Option("--seeds", min=1, metavar="N", help="Seeds: 0 to N - 1.", show_default=False)
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", min=1, metavar="N", help="Runs at a time; the usable cores if left out."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="KEY=VALUE", help="Change a key for all runs, as in `rewardsmith run`."
    ),
]
QuickOption = Annotated[
    bool,
    typer.Option(
        "--quick", metavar="", help="Two quick tasks and two seeds: minutes, and no more than a first look."
    ),
]


def run_cells(out: Path, cells: "Sequence[Cell]", jobs: int | None) -> "list[Outcome]":
    """Bring every cell to its end, telling of each on stderr."""
    from rewardsmith.campaign.running import Campaign

    n_done = 0

    def told(outcome: "Outcome") -> None:
        nonlocal n_done
        n_done += 1
        cell = outcome.cell
        how = "failed" if outcome.result is None else f"{outcome.wall_s:.0f} s"
        note(f"{n_done}/{len(cells)}  {cell.task}  {cell.label}  seed {cell.seed}  {how}")

    note(f"{len(cells)} runs in {out}")
    return Campaign(out).run(cells, jobs=jobs or usable_cores(), on_outcome=told)


def end(outcomes: "Sequence[Outcome]") -> None:
    """End the command with 3 where a run did not end, and say which and why."""
    failed = [outcome for outcome in outcomes if outcome.result is None]
    for outcome in failed:
        note(f"{outcome.folder}: {outcome.error}")
    if failed:
        note(f"{len(failed)} runs did not end; the same command goes on with them")
        raise typer.Exit(EXIT_UNFINISHED)
