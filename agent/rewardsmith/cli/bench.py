"""`rewardsmith bench`: what methods, rankings and evaluators are worth, measured here."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardsmith.cli.console import Column, count, note, number, say, say_json, say_table
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption
from rewardsmith.cli.run import SandboxChoice, usable_cores

if TYPE_CHECKING:
    from rewardsmith.campaign.cells import Cell
    from rewardsmith.campaign.running import Outcome
    from rewardsmith.campaign.summary import Against, Row
    from rewardsmith.stages.comparison import Interval

app = typer.Typer(
    help="Measure methods, rankings and evaluators; every command goes on where it was.", no_args_is_help=True
)

EXIT_UNFINISHED = 3

TASKS = ("classic/pendulum", "classic/mountain-car", "metaworld/drawer-open", "metaworld/plate-slide")
VARIANTS = (
    "rewardsmith",
    "eureka 8 x 3: eureka,propose.candidates=8,stop.iterations=3",
    "random proposals + TPE: rewardsmith,propose.parent=none",
    "without TPE: rewardsmith,gate.rule=none",
)
BASELINES = "baselines"
BASELINE_SEEDS = 5
QUICK_TASKS = ("classic/pendulum", "classic/mountain-car")
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
SandboxOption = Annotated[SandboxChoice, typer.Option(help="Where reward code runs.")]
QuickOption = Annotated[
    bool,
    typer.Option(
        "--quick", metavar="", help="Two quick tasks and two seeds: minutes, and no more than a first look."
    ),
]


@app.command(
    "methods",
    epilog="Examples:\n\n"
    "  rewardsmith bench methods --quick\n\n"
    "  rewardsmith bench methods --method rewardsmith --method card --model openai/gpt-5-mini --seeds 3\n\n"
    "  rewardsmith bench methods --method card --method 'no preference: card,feedback.preference=false'",
)
def methods(
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="[LABEL: ]METHOD[,KEY=VALUE]...",
            help="A method, keys changed, under a label; may be given often. The first is compared with "
            "the others.",
        ),
    ] = None,
    task: TasksOption = None,
    seeds: SeedsOption = None,
    final_seeds: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Fresh seeds with which each winner is trained and judged."),
    ] = 2,
    model: Annotated[str, typer.Option(metavar="MODEL", help="Who writes the rewards.")] = "builtin",
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server of your own.")
    ] = None,
    evaluator_model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Who criticises them; the same model if left out.")
    ] = None,
    settings: SetOption = None,
    jobs: JobsOption = None,
    sandbox: SandboxOption = SandboxChoice.auto,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the runs.")] = DEFAULT_ROOT
    / "bench-methods",
    quick: QuickOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run methods on tasks with several seeds, and compare fitness and cost.

    Without options: the default method, Eureka with 8 candidates and 3 iterations, and the default method
    without one of its parts each, on four tasks with five seeds. All runs of a task share its judge and its
    baselines; steps of the store and of judging count. Run the same again to go on with what was cut off, or
    to see the table again.
    """
    from rewardsmith.campaign.cells import Variant, make_cells
    from rewardsmith.campaign.summary import against, span_of, summarise
    from rewardsmith.config import ModelConfig

    variants = [Variant.parse(text) for text in method or VARIANTS]
    tasks = task or (QUICK_TASKS if quick else TASKS)
    n_seeds = seeds or (QUICK_SEEDS if quick else 5)
    shared: dict[str, Any] = {"sandbox": sandbox.value, "root": DEFAULT_ROOT}
    compared = make_cells(
        tasks=tasks,
        variants=variants,
        seeds=range(n_seeds),
        settings=[f"final.seeds={final_seeds}", "final.baselines=false", *(settings or ())],
        model=ModelConfig(name=model, base_url=base_url),
        evaluator=ModelConfig(name=evaluator_model) if evaluator_model else None,
        **shared,
    )
    task_settings = [text for text in settings or () if text.startswith("task.")]
    baselines = make_cells(
        tasks=tasks,
        variants=[Variant(BASELINES, BASELINES, (f"final.seeds={BASELINE_SEEDS}",))],
        seeds=[0],
        settings=task_settings,
        **shared,
    )
    outcomes = _run(out, [*baselines, *compared], jobs)
    arms = {
        o.cell.task: o.result["final"]["arms"] for o in outcomes if o.cell.label == BASELINES and o.result
    }
    spans = {
        cell.task: span_of(arms.get(cell.task, {}), cell.config.task_file["target_fitness"])
        for cell in baselines
    }
    rows = summarise(outcomes[len(baselines) :], arms)
    compared_with = [against(variants[0].label, other.label, rows, spans) for other in variants[1:]]
    if as_json:
        say_json(
            {
                "cores": usable_cores(),
                "rows": [asdict(row) for row in rows],
                "baselines": arms,
                "against": [asdict(one) for one in compared_with],
            }
        )
    else:
        _show_methods(rows, arms, compared_with)
    _end(outcomes)


@app.command(
    "ranking",
    epilog="Examples:\n\n  rewardsmith bench ranking --quick\n\n"
    "  rewardsmith bench ranking --task metaworld/drawer-open --rule pairwise --rule card_code --seeds 1",
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

    1,500 random proposals of `builtin` are ranked once by each rule, on a store of random episodes and on one
    with the task's own expert in it; the first six are trained at the task's whole budget. `none` ranks
    nothing.
    """
    from rewardsmith.campaign.cells import make_cells
    from rewardsmith.campaign.ranking import RULES, rank_rows, ranking_variants

    unknown = next((name for name in rule or () if name not in RULES), None)
    if unknown is not None:
        raise typer.BadParameter(f"{unknown!r} is none of {', '.join(RULES)}", param_hint="--rule")
    cells = make_cells(
        tasks=task or (QUICK_TASKS if quick else TASKS[1:]),
        variants=ranking_variants(rule or RULES),
        seeds=range(seeds or (QUICK_SEEDS if quick else 3)),
        settings=settings or (),
        sandbox=sandbox.value,
    )
    outcomes = _run(out, cells, jobs)
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
    _end(outcomes)


def _run(out: Path, cells: "Sequence[Cell]", jobs: int | None) -> "list[Outcome]":
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


def _end(outcomes: "Sequence[Outcome]") -> None:
    failed = [outcome for outcome in outcomes if outcome.result is None]
    for outcome in failed:
        note(f"{outcome.folder}: {outcome.error}")
    if failed:
        note(f"{len(failed)} runs did not end; the same command goes on with them")
        raise typer.Exit(EXIT_UNFINISHED)


def _show_methods(
    rows: "Sequence[Row]", arms: Mapping[str, Mapping[str, Any]], compared: "Sequence[Against]"
) -> None:
    columns = (
        Column(title="task"),
        Column(title="method"),
        Column(title="fitness", align="right"),
        Column(title="95 % interval"),
        Column(title="normalised", align="right", from_width=110),
        Column(title="trainings", align="right", from_width=100),
        Column(title="skipped", align="right", from_width=120),
        Column(title="env steps", align="right"),
        Column(title="tokens", align="right", from_width=150),
        Column(title="USD", align="right", from_width=150),
        Column(title="wall s", align="right", from_width=130),
        Column(title="execute", align="right", from_width=140),
        Column(title="TPE", align="right", from_width=130),
        Column(title="runs", align="right"),
    )
    table = []
    for row in rows:
        means = row.means
        table.append(
            [
                row.task,
                row.label,
                number(row.fitness.iqm if row.fitness else None),
                _interval(row.fitness),
                number(row.human_normalised),
                number(means["trainings"], 1),
                number(means["skipped"], 0),
                count(None if means["env_steps"] is None else round(means["env_steps"])),
                count(None if means["tokens"] is None else round(means["tokens"])),
                number(means["usd"]),
                number(means["wall_s"], 0),
                number(means["execute_rate"]),
                number(means["preference"]),
                f"{len(row.fitnesses)} of {len(row.runs) + row.n_failed}",
            ]
        )
    say_table(columns, table)
    say("fitness: of the winner, trained afresh (interquartile mean over runs); else means over runs")
    say("trainings, skipped, env steps: of the search, with the steps of its store and of its judge")
    say()
    for task, baselines in arms.items():
        shown = ", ".join(
            f"{name} {number(arm['fitness_iqm'] and arm['fitness_iqm']['iqm'])}"
            for name, arm in baselines.items()
        )
        say(f"{task}: {shown}")
    for one in compared:
        say()
        if one.difference is None:
            say(f"{one.first} against {one.second}: not compared; it takes two runs with a winner of each")
            continue
        say(
            f"{one.first} against {one.second}: fitness {one.difference.iqm:+.3f} "
            f"(95 % {_interval(one.difference, 3)}) of the way from a zero reward to the target, over "
            f"{len(one.tasks)} tasks; {number(one.steps_ratio)} times its environment steps"
        )


def _interval(interval: "Interval | None", digits: int = 2) -> str:
    if interval is None or interval.low is None:
        return "-"
    return f"{number(interval.low, digits)} to {number(interval.high, digits)}"
