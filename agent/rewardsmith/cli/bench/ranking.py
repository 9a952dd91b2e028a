"""`rewardsmith bench ranking`: what a ranking by trajectory preference is worth."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rewardsmith.cli.bench.common import (
    QUICK_SEEDS,
    QUICK_TASKS,
    TASKS,
    JobsOption,
    QuickOption,
    SeedsOption,
    SetOption,
    TasksOption,
    end,
    run_cells,
)
from rewardsmith.cli.console import Column, number, say, say_json, say_table
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption, SandboxChoice, SandboxOption
from rewardsmith.cli.run import usable_cores
from rewardsmith.errors import ConfigError

EPILOG = (
    "Examples:\n\n  rewardsmith bench ranking --quick\n\n"
    "  rewardsmith bench ranking --task metaworld/drawer-open --rule pairwise --rule card_code --seeds 1"
)


def ranking(
    task: TasksOption = None,
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", metavar="RULE", help="A value of gate.rule; may be given often."),
    ] = None,
    seeds: SeedsOption = None,
    solved_at: Annotated[
        float, typer.Option(metavar="X", help="Fitness from which on a policy counts as good enough.")
    ] = 0.9,
    settings: SetOption = None,
    jobs: JobsOption = None,
    sandbox: SandboxOption = SandboxChoice.auto,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT
    / "bench-ranking",
    quick: QuickOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the proposals that each rule ranks first, and count those that succeed.

    1,500 random proposals of `builtin` are ranked once by each rule, on a
    store of random episodes and on one with the task's own expert in it; the
    first four are trained at the task's whole budget. `none` ranks nothing.
    """
    from rewardsmith.campaign.cells import make_cells
    from rewardsmith.campaign.ranking import RULES, rank_rows, ranking_variants

    unknown = next((name for name in rule or () if name not in RULES), None)
    if unknown is not None:
        raise ConfigError(f"--rule {unknown}: it is none of {', '.join(RULES)}")
    cells = make_cells(
        tasks=task or (QUICK_TASKS if quick else TASKS[1:]),
        variants=ranking_variants(rule or RULES, settings or ()),
        seeds=range(seeds or (QUICK_SEEDS if quick else 3)),
        sandbox=sandbox.value,
    )
    outcomes = run_cells(out, cells, jobs)
    rows = rank_rows(outcomes, solved_at)
    if as_json:
        say_json({"cores": usable_cores(), "solved_at": solved_at, "rows": [asdict(row) for row in rows]})
    else:
        columns = (
            Column(title="task"),
            Column(title="store"),
            Column(title="rule"),
            Column(title="trained", align="right"),
            Column(title="solved", align="right"),
            Column(title="share", align="right"),
            Column(title="at half", align="right"),
            Column(title="fitness", align="right"),
            Column(title="not ranked", align="right"),
        )
        say_table(
            columns,
            [
                [
                    row.task,
                    row.store,
                    row.rule,
                    str(row.trained),
                    str(row.solved),
                    number(row.solved / row.trained if row.trained else None),
                    number(row.solved_half / row.trained if row.trained else None),
                    number(row.fitness),
                    f"{row.undetermined} of {row.runs}",
                ]
                for row in rows
            ],
        )
        say(f"solved: fitness of {solved_at:g} or more at one of two checkpoints; at half: at the first")
    end(outcomes)
