"""`rewardsmith task`: what tasks there are, what one says, and whether it keeps its own contract."""

from typing import TYPE_CHECKING, Any

import typer

from rewardsmith.cli import task_check, task_measure, task_new
from rewardsmith.cli.console import Column, number, say, say_json, say_table
from rewardsmith.cli.options import JsonOption, TaskArgument
from rewardsmith.errors import RewardsmithError

if TYPE_CHECKING:
    from rewardsmith.services.tasks.schema import TaskFile

app = typer.Typer(help="Make, list, show and check tasks.", no_args_is_help=True)
app.command("new", epilog=task_new.EPILOG)(task_new.new)
app.command("check")(task_check.check_task)
app.command("measure", epilog=task_measure.EPILOG)(task_measure.measure)


@app.command("list")
def list_tasks(as_json: JsonOption = False) -> None:
    """List the tasks in ./tasks and those that come with rewardsmith."""
    from rewardsmith.services.tasks.catalog import find_task_folders

    rows = [_row(name, str(folder)) for name, folder in sorted(find_task_folders().items())]
    if as_json:
        say_json(rows)
        return
    columns = (
        Column(title="name"),
        Column(title="goal", fold=True),
        Column(title="discriminates"),
        Column(title="note", fold=True),
    )
    words = {None: "-", True: "yes", False: "no"}
    say_table(
        columns,
        [[row["name"], row["goal"] or "-", words[row["discriminates"]], _remark(row)] for row in rows],
    )


@app.command("show")
def show_task(task: TaskArgument, as_json: JsonOption = False) -> None:
    """Show what TASK asks for, what a reward sees of it, and how it is measured and trained."""
    from rewardsmith.services.tasks.catalog import load_task, missing_extras
    from rewardsmith.services.tasks.measured import is_current, read_measured

    found = load_task(task)
    missing = missing_extras(found)
    measured = read_measured(found)
    current = measured is not None and is_current(measured, found)
    if as_json:
        document = {
            "name": found.name,
            "folder": str(found.folder),
            "missing_extras": missing,
            "measured": measured and {"is_current": current, **measured.model_dump(mode="json")},
        }
        say_json(document | found.file.model_dump(mode="json"))
        return
    say(found.name)
    say(f"  {found.file.goal}")
    say(f"  {found.folder}")
    if missing:
        say(f"  missing: pip install 'rewardsmith[{','.join(missing)}]'")
    say()
    _show_layout(found.file)
    say()
    _show_measures(found.file)
    _show_training(found.file)
    for line in task_measure.in_words(measured, is_current=current):
        say(line)


def _row(name: str, folder: str) -> dict[str, Any]:
    from rewardsmith.services.tasks.catalog import load_task, missing_extras
    from rewardsmith.services.tasks.measured import read_measured

    row: dict[str, Any] = {"name": name, "goal": None, "folder": folder, "missing_extras": []}
    row |= {"discriminates": None, "error": None}
    try:
        task = load_task(folder)
        measured = read_measured(task)
    except RewardsmithError as bad:
        return row | {"error": str(bad)}
    found = {"goal": task.file.goal, "missing_extras": missing_extras(task)}
    return row | found | {"discriminates": measured and measured.discriminates}


def _remark(row: dict[str, Any]) -> str:
    if row["error"] is not None:
        return f"broken: {row['error']}"
    if row["missing_extras"]:
        return f"needs: pip install 'rewardsmith[{','.join(row['missing_extras'])}]'"
    return ""


def _show_layout(file: "TaskFile") -> None:
    columns = (
        Column(title="state"),
        Column(title="shape"),
        Column(title="kind", from_width=60),
        Column(title="unit"),
        Column(title="low", align="right"),
        Column(title="high", align="right"),
        Column(title="what it is", fold=True, from_width=80),
    )
    rows = [
        [
            field.name,
            "x".join(map(str, field.shape)) or "1",
            field.kind,
            field.unit or "-",
            number(field.low),
            number(field.high),
            field.doc,
        ]
        for field in file.state
    ]
    say_table(columns, rows)


def _show_measures(file: "TaskFile") -> None:
    env = file.env
    say(f"environment  {env.id or env.factory}, action repeat {env.action_repeat}")
    say(f"fitness      {file.fitness}{': ' + file.fitness_doc if file.fitness_doc else ''}")
    if file.target_fitness is not None:
        say(f"target       {file.target_fitness:g}")
    if file.success is not None:
        say(f"success      {file.success.source}, at {file.success.when} step")
    if file.progress is not None:
        say(f"progress     {file.progress.source}, {file.progress.over} of the episode")
    say(f"baselines    {', '.join(file.baselines) or 'none'}")
    say(f"judged on    {file.judge.episodes} episodes in the search, {file.judge.final_episodes} at the end")


def _show_training(file: "TaskFile") -> None:
    training = file.training
    say(
        f"training     {training.algorithm}, {training.total_timesteps:,} steps, "
        f"{training.n_envs} environments, network {list(training.net_arch)}"
    )
    settings = ", ".join(f"{key}={value}" for key, value in training.hyperparameters.items())
    say(f"             {settings or 'default hyperparameters'}")
