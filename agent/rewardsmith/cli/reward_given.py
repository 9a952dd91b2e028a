"""`rewardsmith reward check` and `reward train`: a reward that a person wrote, without any model."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardsmith.cli.console import Column, note, number, say, say_json, say_table
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption, SandboxChoice, SandboxOption, WorkersOption
from rewardsmith.cli.run import execute_and_show, read_reward, usable_cores, where
from rewardsmith.errors import NoWinnerError

if TYPE_CHECKING:
    from rewardsmith.config import RunConfig

CHECK_EPILOG = (
    "Examples:\n\n"
    "  rewardsmith reward check my_reward.py --task classic/pendulum\n\n"
    "  rewardsmith reward check my_reward.py --task drawer-open -s store.expert_episodes=60"
)
TRAIN_EPILOG = (
    "Examples:\n\n"
    "  rewardsmith reward train my_reward.py --task classic/pendulum\n\n"
    "  rewardsmith reward train my_reward.py --task drawer-open --seeds 3 --name by-hand"
)

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A Python file that defines compute_reward, see README.md.")
]
TaskOption = Annotated[str, typer.Option("--task", metavar="TASK", help="Name of a task, or its folder.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Change a key, as in `rewardsmith run`."),
]
SeedOption = Annotated[int, typer.Option(min=0, metavar="N", help="Of episodes and trainings.")]


def check(
    file: FileArgument,
    task: TaskOption,
    settings: SetOption = None,
    seed: SeedOption = 0,
    sandbox: SandboxOption = SandboxChoice.auto,
    as_json: JsonOption = False,
) -> None:
    """Validate the reward in FILE, rank it on recorded episodes, and look at its components.

    Nothing is trained and nothing is left behind. Exit code 2 where it is
    turned down.
    """
    from rewardsmith.cli.progress import open_reporter
    from rewardsmith.loop.run import execute
    from rewardsmith.services.journal.folder import RunFolder

    fixed = ("store.episodes=60", *(settings or ()), "final.seeds=0")
    config = _config(file, task, fixed, seed=seed, sandbox=sandbox)
    with tempfile.TemporaryDirectory(prefix="rewardsmith-") as scratch, open_reporter() as reporter:
        folder = RunFolder.create(Path(scratch), "check", config.model_dump(mode="json"))
        given = execute(folder, reporter)["given"]
    assert given is not None
    passed = given["failure"] is None
    if as_json:
        say_json({"file": str(file), "task": config.task, "passed": passed, **given})
    else:
        _show(file, config.task, given)
    if not passed:
        raise typer.Exit(NoWinnerError.exit_code)


def train(
    file: FileArgument,
    task: TaskOption,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Fresh seeds for the reward and for each baseline.")
    ] = 5,
    settings: SetOption = None,
    seed: SeedOption = 0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = SandboxChoice.auto,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run's own folder, instead of a new one in ./runs.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the new folder in ./runs.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train policies under the reward in FILE at full budget, and compare it with the task's baselines.

    It is a run like any other: `rewardsmith resume` goes on with it and
    `rewardsmith runs show` shows it. Exit code 2 where it is turned down.
    """
    from rewardsmith.services.journal.folder import RunFolder

    root, folder_name = where(out, name)
    config = _config(
        file, task, (f"final.seeds={seeds}", *(settings or ())), seed=seed, sandbox=sandbox, workers=workers
    )
    folder = RunFolder.create(root, folder_name, config.model_dump(mode="json"))
    execute_and_show(folder, as_json)


def _config(
    file: Path,
    task: str,
    settings: Sequence[str],
    *,
    seed: int,
    sandbox: SandboxChoice,
    workers: int | None = None,
) -> "RunConfig":
    from rewardsmith.config import BudgetConfig
    from rewardsmith.loop.setup import NO_SEARCH, resolve

    return resolve(
        task=task,
        method=NO_SEARCH,
        settings=settings,
        model="builtin",
        seed=seed,
        workers=workers or usable_cores(),
        sandbox=sandbox.value,
        budget=BudgetConfig(),
        root=DEFAULT_ROOT,
        reward=read_reward(file),
    )


def _show(file: Path, task: str, given: Mapping[str, Any]) -> None:
    if given["failure"] is not None:
        say(f"{file}: turned down: {given['failure']}")
        for line in given["message"].splitlines():
            say(f"  {line}")
        return
    say(f"{file}: passed validation on {task}")
    if given["preference"] is None:
        say(
            f"Preference accuracy: undetermined, only {given['n_pairs']} pairs of "
            f"{given['n_trajectories']} episodes differ"
        )
    else:
        verdict = "" if given["preference"] >= given["needed"] else ": a search would not train it"
        say(
            f"Preference accuracy: {given['preference']:.3f} over {given['n_pairs']} pairs of "
            f"{given['n_trajectories']} episodes; {given['needed']:g} is needed{verdict}"
        )
    say(f"Rank correlation of return and fitness: {number(given['rank_correlation'])}")
    columns = (
        Column(title="component"),
        Column(title="mean", align="right"),
        Column(title="std", align="right"),
        Column(title="min", align="right"),
        Column(title="max", align="right"),
        Column(title="share", align="right"),
        Column(title="remarks", fold=True),
    )
    rows = [_row("reward", {**given["reward"], "share": None, "remarks": []})]
    rows += [_row(name, component) for name, component in given["components"].items()]
    say_table(columns, rows)
    note("share: of the reward's variance over recorded transitions")


def _row(name: str, values: Mapping[str, Any]) -> list[str]:
    statistics = [f"{values[key]:.4g}" for key in ("mean", "std", "min", "max")]
    return [name, *statistics, number(values["share"]), "; ".join(values["remarks"])]
