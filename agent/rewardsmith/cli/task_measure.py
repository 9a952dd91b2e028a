"""`rewardsmith task measure`: what a task's baselines and a reward by hand reach, and whether they differ."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardsmith.cli.console import Column, note, number, say_json, say_table
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption, SandboxChoice, SandboxOption, WorkersOption
from rewardsmith.cli.run import read_reward, usable_cores

if TYPE_CHECKING:
    from rewardsmith.services.tasks.measured import Measured

EPILOG = (
    "Examples:\n\n"
    "  rewardsmith task measure classic/pendulum\n\n"
    "  rewardsmith task measure own/cheetah --reward my_reward.py --seeds 3"
)


def measure(
    tasks: Annotated[list[str], typer.Argument(metavar="TASK...", help="Names of tasks, or their folders.")],
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds for each reward.")] = 5,
    reward: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A reward that works; reference.py in the task's folder if left out."
        ),
    ] = None,
    workers: WorkersOption = None,
    sandbox: SandboxOption = SandboxChoice.auto,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT / "measure",
    as_json: JsonOption = False,
) -> None:
    """Train each TASK's baselines and a reward by hand, and write measured.yaml into its folder.

    A task discriminates where the reward by hand is clearly above the sparse
    success: only there can a search show anything. Run again to go on.
    """
    from rewardsmith.campaign.measuring import measure_task, measuring_config
    from rewardsmith.cli.progress import open_reporter
    from rewardsmith.services.journal.folder import write_text_atomic
    from rewardsmith.services.tasks.catalog import load_task, require_extras
    from rewardsmith.services.tasks.measured import MEASURED_FILE, measured_yaml, reference_file

    found = [load_task(name) for name in tasks]
    for task in found:
        require_extras(task)
    given = [read_reward(reward or reference_file(task)) for task in found]
    results: dict[str, Measured] = {}
    for task, (source, origin) in zip(found, given, strict=True):
        config = measuring_config(
            task, source, origin, seeds=seeds, workers=workers or usable_cores(), sandbox=sandbox.value
        )
        note(f"{task.name}: {seeds} seeds for each reward")
        with open_reporter() as reporter:
            results[task.name] = measure_task(config, out, reporter, cores=usable_cores())
        path = task.folder / MEASURED_FILE
        write_text_atomic(path, measured_yaml(results[task.name]))
        note(f"written: {path}")
    if as_json:
        say_json({name: measured.model_dump(mode="json") for name, measured in results.items()})
    else:
        show_measured(results)


def show_measured(results: "dict[str, Measured]") -> None:
    """Write a table of what was measured."""
    columns = (
        Column(title="task"),
        Column(title="reward"),
        Column(title="fitness", align="right"),
        Column(title="95 % interval"),
        Column(title="discriminates"),
    )
    rows: list[list[str]] = []
    for task, measured in results.items():
        for i, (name, figure) in enumerate(measured.fitness.items()):
            ends = "-" if figure.low is None else f"{figure.low:.2f} to {figure.high:.2f}"
            first = [task, "yes" if measured.discriminates else "no"] if i == 0 else ["", ""]
            rows.append([first[0], name, number(figure.iqm), ends, first[1]])
    say_table(columns, rows)


def in_words(measured: "Measured | None", *, is_current: bool) -> list[str]:
    """Return lines that say what was measured of one task."""
    if measured is None:
        return ["measured     not yet: `rewardsmith task measure` does"]
    word = "yes" if measured.discriminates else "no"
    lines = [f"discriminates {word}: {measured.why}"]
    arms = [f"{name} {figure.iqm:.2f}" for name, figure in measured.fitness.items()]
    lines.append(
        f"measured     {', '.join(arms)}; {measured.seeds} seeds, {measured.wall_s:.0f} s a training"
    )
    if not is_current:
        lines.append("             on an earlier version of this task")
    return lines
