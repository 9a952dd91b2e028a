"""`rewardsmith bench methods`: methods side by side under one judge and one ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from rewardsmith.cli.console import Column, count, number, say, say_json, say_table
from rewardsmith.cli.options import (
    DEFAULT_ROOT,
    ApiKeyEnvOption,
    BaseUrlOption,
    JsonOption,
    SandboxChoice,
    SandboxOption,
)
from rewardsmith.cli.run import usable_cores

if TYPE_CHECKING:
    from rewardsmith.campaign.running import Outcome
    from rewardsmith.campaign.summary import Against, Row
    from rewardsmith.stages.comparison import Interval

VARIANTS = (
    "rewardsmith",
    "eureka 8 x 3: eureka,propose.candidates=8,stop.iterations=3",
    "random proposals + TPE: rewardsmith,propose.parent=none",
    "without TPE: rewardsmith,gate.rule=none",
)
BASELINES = "baselines"
BASELINE_SEEDS = 5
EPILOG = (
    "Examples:\n\n"
    "  rewardsmith bench methods --quick\n\n"
    "  rewardsmith bench methods --method rewardsmith --method card --model openai/gpt-5-mini --seeds 3\n\n"
    "  rewardsmith bench methods --method card --method 'no preference: card,feedback.preference=false'"
)


def methods(
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="A method, some keys changed, under a label of its own: [LABEL: ]METHOD[,KEY=VALUE]... "
            "May be given often; the first is compared with the others.",
        ),
    ] = None,
    task: TasksOption = None,
    seeds: SeedsOption = None,
    final_seeds: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Fresh seeds with which each winner is trained and judged."),
    ] = 2,
    model: Annotated[str, typer.Option(metavar="MODEL", help="Who writes the rewards.")] = "builtin",
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = None,
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

    Without options: the default method, Eureka with 8 candidates and 3
    iterations, and the default method without one of its parts each, on
    four tasks with five seeds. All runs of a task share its judge and its
    baselines; steps of the store and of judging count. Run the same again
    to go on with what was cut off, or to see the table again.
    """
    from rewardsmith.campaign.cells import Variant, make_cells
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
        model=ModelConfig(name=model, base_url=base_url, api_key_env=api_key_env),
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
    outcomes = run_cells(out, [*baselines, *compared], jobs)
    labels = [variant.label for variant in variants]
    rows, arms, compared_with = _compare(outcomes[: len(baselines)], outcomes[len(baselines) :], labels)
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
    end(outcomes)


def _compare(
    baselines: "Sequence[Outcome]", compared: "Sequence[Outcome]", labels: Sequence[str]
) -> "tuple[list[Row], dict[str, Mapping[str, Any]], list[Against]]":
    """Return a row for each task and method, baselines by task, and the first method against others."""
    from rewardsmith.campaign.summary import against, span_of, summarise

    arms = {o.cell.task: o.result["final"]["arms"] for o in baselines if o.result}
    spans = {
        o.cell.task: span_of(arms.get(o.cell.task, {}), o.cell.config.task_file["target_fitness"])
        for o in baselines
    }
    rows = summarise(compared, arms)
    return rows, arms, [against(labels[0], other, rows, spans) for other in labels[1:]]


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
