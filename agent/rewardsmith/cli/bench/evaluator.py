"""`rewardsmith bench evaluator`: how good a judge a model is."""

from pathlib import Path
from typing import Annotated

import typer

from rewardsmith.cli.bench.common import TASKS, SetOption, TasksOption
from rewardsmith.cli.console import Column, count, note, number, say, say_json, say_table
from rewardsmith.cli.options import (
    DEFAULT_ROOT,
    ApiKeyEnvOption,
    BaseUrlOption,
    JsonOption,
    SandboxChoice,
    SandboxOption,
)

EPILOG = (
    "Examples:\n\n"
    "  rewardsmith bench evaluator --model openai/gpt-5-mini --task metaworld/drawer-open --pairs 20\n\n"
    "  rewardsmith bench evaluator --model openai/qwen3 --base-url http://localhost:11434/v1 --no-rubric"
)


def evaluator(
    model: Annotated[str, typer.Option(metavar="MODEL", help="The model that is to judge.")],
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = None,
    task: TasksOption = None,
    pairs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Pairs of episodes a task; each is asked about twice.")
    ] = 30,
    rubric: Annotated[
        bool,
        typer.Option("--rubric/--no-rubric", help="Whether the model first writes a rubric."),
    ] = True,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the episodes.")] = 0,
    settings: SetOption = None,
    max_usd: Annotated[float | None, typer.Option(min=0, metavar="X", help="Most US dollars a task.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0, metavar="N", help="Most tokens a task.")] = None,
    sandbox: SandboxOption = SandboxChoice.auto,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT
    / "bench-evaluator",
    as_json: JsonOption = False,
) -> None:
    """Ask a model which of two episodes did the task better, where that is known, and count.

    Episodes are random ones and, where the task has an expert, some of its
    own of every quality. Each pair is asked about in both orders: a judge
    that likes what stands first is inconsistent.
    """
    from rewardsmith.campaign.cells import evaluator_cells
    from rewardsmith.campaign.evaluating import execute_choices
    from rewardsmith.cli.progress import open_reporter
    from rewardsmith.config import BudgetConfig, ModelConfig
    from rewardsmith.services.journal.folder import RunFolder

    cells = evaluator_cells(
        tasks=task or TASKS,
        seed=seed,
        settings=settings or (),
        model=ModelConfig(name=model, base_url=base_url, api_key_env=api_key_env),
        sandbox=sandbox.value,
        budget=BudgetConfig(max_usd=max_usd, max_tokens=max_tokens),
        label=f"{model} {pairs} pairs{' with rubric' if rubric else ''}",
    )
    results = []
    for cell in cells:
        path = out / cell.folder_name
        note(f"{cell.task}: {path}")
        folder = (
            RunFolder.open(path)
            if path.exists()
            else RunFolder.create(out, cell.folder_name, cell.config.model_dump(mode="json"))
        )
        with open_reporter() as reporter:
            results.append(execute_choices(folder, reporter, n_pairs=pairs, with_rubric=rubric))
    if as_json:
        say_json(results)
        return
    columns = (
        Column(title="task"),
        Column(title="pairs", align="right"),
        Column(title="accuracy", align="right"),
        Column(title="by fitness", align="right", from_width=90),
        Column(title="by progress", align="right", from_width=100),
        Column(title="consistent", align="right"),
        Column(title="first", align="right"),
        Column(title="no answer", align="right"),
        Column(title="tokens", align="right", from_width=110),
        Column(title="USD", align="right", from_width=110),
    )
    reports = [result["report"] for result in results]
    shares = ("accuracy", "accuracy_by_fitness", "accuracy_by_progress", "consistency", "first_share")
    say_table(
        columns,
        [
            [
                row["task"],
                str(row["pairs"]),
                *(number(row[name]) for name in shares),
                str(row["unanswered"]),
                count(row["tokens"]),
                number(row["usd"]),
            ]
            for row in reports
        ],
    )
    say("accuracy: share of right answers, 0.5 is chance; consistent: same episode chosen in both orders")
    say("first: share of answers that chose the episode that stood first, 0.5 is without bias")
