"""`rewardsmith runs`: what runs there are, and what one did."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rewardsmith.cli.console import Column, count, number, say, say_json, say_table
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption, RootOption, RunArgument
from rewardsmith.cli.transcript import transcript
from rewardsmith.errors import RunFolderError

if TYPE_CHECKING:
    from rewardsmith.loop.records import IterationRecord, RunRecord, TrainedRecord
    from rewardsmith.services.models.base import Proposal

app = typer.Typer(help="List runs and show what they did.", no_args_is_help=True)

_COLUMNS = (
    Column(title="name", fold=True),
    Column(title="task", from_width=150),
    Column(title="model", from_width=120),
    Column(title="method", from_width=130),
    Column(title="seed", align="right", from_width=100),
    Column(title="status"),
    Column(title="iter", align="right"),
    Column(title="best", align="right"),
    Column(title="env steps", align="right", from_width=80),
    Column(title="started", from_width=110),
)

_TRAINED = (
    Column(title="trained"),
    Column(title="parents", fold=True, from_width=80),
    Column(title="origin", from_width=60),
    Column(title="pref", align="right"),
    Column(title="fitness", align="right"),
    Column(title="fitness by step", fold=True, from_width=72),
    Column(title="rank corr", align="right", from_width=110),
    Column(title="Goodhart", align="right", from_width=110),
    Column(title="confirmed", align="right"),
    Column(title="end", fold=True),
)

app.command("transcript")(transcript)


@app.command("list")
def list_all(root: RootOption = DEFAULT_ROOT, as_json: JsonOption = False) -> None:
    """List runs, the newest first."""
    from rewardsmith.services.journal.folder import list_runs

    rows = [_summary(path) for path in list_runs(root)]
    if as_json:
        say_json(rows)
    elif rows:
        say_table(_COLUMNS, [_cells(row) for row in rows])
        for row in rows:
            if row["error"] is not None:
                say(f"{row['name']}: {row['error']}")
    else:
        say(f"No runs in {root}")


@app.command("show")
def show(run: RunArgument, root: RootOption = DEFAULT_ROOT, as_json: JsonOption = False) -> None:
    """Show what RUN proposed, turned down and trained in each iteration, and how it ended."""
    from rewardsmith.loop.records import read_proposals, read_run
    from rewardsmith.services.journal.folder import find_run

    record = read_run(find_run(root, run))
    proposals = read_proposals(record)
    if as_json:
        say_json(_document(record, proposals))
        return
    _show_head(record)
    for iteration in record.iterations:
        say()
        _show_iteration(record, iteration, proposals)
    if record.result is not None:
        from rewardsmith.cli.outcome import show_outcome

        say()
        show_outcome(record.folder.path, record.result, as_json=False)


def _summary(path: Path) -> dict[str, Any]:
    from rewardsmith.loop.records import read_run

    try:
        record = read_run(path)
    except RunFolderError as error:
        return {"name": path.name, "path": str(path), "status": "broken", "error": str(error)}
    return _head(record)


def _head(record: "RunRecord") -> dict[str, Any]:
    config = record.config
    return {
        "name": record.folder.name,
        "path": str(record.folder.path),
        "task": config.task,
        "model": config.model.name,
        "evaluator": config.evaluator and config.evaluator.name,
        "method": config.method_name,
        "seed": config.seed,
        "status": record.status,
        "iterations": len(record.iterations),
        "best": record.best,
        "env_steps": record.env_steps,
        "trainings": record.trainings,
        "started": record.started,
        "error": record.stopped,
    }


def _cells(row: Mapping[str, Any]) -> list[str]:
    best = row.get("best")
    return [
        row["name"],
        row.get("task", "-"),
        row.get("model", "-"),
        row.get("method", "-"),
        str(row.get("seed", "-")),
        row["status"],
        str(row.get("iterations", "-")),
        number(best["fitness"] if best else None),
        count(row.get("env_steps")),
        _moment(row.get("started")),
    ]


def _moment(started: float | None) -> str:
    return "-" if started is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(started))


def _show_head(record: "RunRecord") -> None:
    config = record.config
    say(f"{record.folder.name}  {record.status}, started {_moment(record.started)}")
    evaluator = f", evaluator {config.evaluator.name}" if config.evaluator else ""
    models = f"model {config.model.name}{evaluator}"
    say(f"  {config.task}, {models}, method {config.method_name}, seed {config.seed}")
    say(f"  {count(record.env_steps)} environment steps, {record.trainings} trainings so far")
    if record.stopped is not None:
        say(f"  stopped: {record.stopped}")
        say(f"  `rewardsmith resume {record.folder.name}` goes on, once that is mended")
    if record.best is not None:
        best = record.best
        reached = f"fitness {number(best['fitness'])}, progress {number(best['progress'])}"
        say(f"  best so far: {best['id']}, {reached}")


def _show_iteration(
    record: "RunRecord", iteration: "IterationRecord", proposals: Mapping[str, "Proposal"]
) -> None:
    if iteration.n_proposed is None:
        say(f"Iteration {iteration.number}: not ranked yet")
        return
    n_failed = sum(iteration.failures.values())
    say(
        f"Iteration {iteration.number}: {iteration.n_proposed} proposed, {n_failed} turned down, "
        f"{len(iteration.trained)} chosen for training"
    )
    if iteration.failures:
        reasons = ", ".join(f"{n} {reason}" for reason, n in iteration.failures.items())
        say(f"  turned down: {reasons}")
    if record.config.method.gate.rule == "none":
        say("  not ranked, as gate.rule has it")
    else:
        undetermined = "; undetermined, too few differ" if iteration.undetermined else ""
        say(f"  ranked on {iteration.n_trajectories} trajectories, {iteration.n_pairs} pairs{undetermined}")
    if iteration.trained:
        n_rungs = len(record.config.method.train.rungs)
        say_table(_TRAINED, [_trained_cells(t, n_rungs, proposals.get(t.id)) for t in iteration.trained])
    nearest = _nearest(iteration.epic)
    if nearest is not None:
        say(f"  most alike of these and the best (EPIC distance, 0 to 1): {nearest}")
    if iteration.best is not None:
        say(f"  best so far: {iteration.best['id']}, fitness {number(iteration.best['fitness'])}")


def _nearest(epic: Mapping[str, Any] | None) -> str | None:
    """Return the two rewards of the smallest distance, in words; None where no two were compared."""
    if epic is None:
        return None
    ids, rows = epic["ids"], epic["distances"]
    pairs = [
        (rows[i][j], f"{ids[j]} and {ids[i]}")
        for i in range(len(ids))
        for j in range(i)
        if rows[i][j] is not None
    ]
    return f"{min(pairs)[1]}, {number(min(pairs)[0])}" if pairs else None


def _trained_cells(trained: "TrainedRecord", n_rungs: int, proposal: "Proposal | None") -> list[str]:
    judged = [f"{c['step']}:{number(c['fitness'])}" for c in trained.checkpoints]
    fitness = [c["fitness"] for c in trained.checkpoints if c["fitness"] is not None]
    return [
        trained.id,
        " ".join(proposal.parents) or "-" if proposal else "-",
        proposal.origin if proposal else "-",
        number(trained.preference, 3),
        number(max(fitness, default=None)),
        " ".join(judged) or "-",
        number(trained.rank_correlation),
        count(trained.goodhart_step),
        number(trained.confirmed["fitness"] if trained.confirmed else None),
        trained.end(n_rungs),
    ]


def _document(record: "RunRecord", proposals: Mapping[str, "Proposal"]) -> dict[str, Any]:
    from dataclasses import asdict

    iterations = [asdict(iteration) for iteration in record.iterations]
    n_rungs = len(record.config.method.train.rungs)
    for shown, iteration in zip(iterations, record.iterations, strict=True):
        for row, trained in zip(shown["trained"], iteration.trained, strict=True):
            proposal = proposals.get(trained.id)
            row["origin"] = proposal and proposal.origin
            row["parents"] = proposal and list(proposal.parents)
            row["end"] = trained.end(n_rungs)
    return {
        **_head(record),
        "iterations": iterations,
        "winner": record.winner_id,
        "result": record.result,
    }
