"""What the runs of one method on one task came to, and how two methods compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardsmith.campaign.running import Outcome, by_task_and_label
from rewardsmith.errors import FailureCode
from rewardsmith.loop.finals import WINNER
from rewardsmith.loop.records import RunRecord, read_run
from rewardsmith.stages.comparison import Interval, human_normalised, interquartile_mean, mean_difference
from rewardsmith.stages.selection import mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run in numbers.

    Attributes:
        fitness: mean over the final seeds, of a winner trained afresh; None where there is no such winner.
        preference: share of pairs that the winner orders rightly, or None.
        trainings: trainings of the search.
        skipped: proposals that kept the contract and were not trained.
        env_steps: environment steps of the search: episodes of the store, training and judging.
        tokens: of model calls.
        usd: their cost, or None.
        wall_s: seconds of the whole run, the final comparison with it.
        execute_rate: share of the proposals that kept the contract, duplicates left out.
    """

    fitness: float | None
    preference: float | None
    trainings: int
    skipped: int
    env_steps: int
    tokens: int
    usd: float | None
    wall_s: float
    execute_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method on one task, over its seeds.

    Attributes:
        task: its name.
        label: of the method.
        runs: those that ended.
        n_failed: runs that did not end; the reasons stand in `errors`.
        errors: one for each of them.
        fitness: interquartile mean over runs with its interval, or None.
        human_normalised: of the task's baselines, or None.
        means: of the numbers of `Measured`, over the runs that have them.
    """

    task: str
    label: str
    runs: tuple[Measured, ...]
    n_failed: int
    errors: tuple[str, ...]
    fitness: Interval | None
    human_normalised: float | None
    means: Mapping[str, float | None]

    @property
    def fitnesses(self) -> list[float]:
        """Fitness of each run that has one."""
        return [run.fitness for run in self.runs if run.fitness is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One method against another, over tasks.

    Attributes:
        first: its label.
        second: the other's.
        tasks: those on which both have at least two runs with a fitness.
        difference: in fitness, first less second, in units of each task's span; None without such tasks.
        steps_ratio: environment steps of the first over those of the second, over these tasks.
    """

    first: str
    second: str
    tasks: tuple[str, ...]
    difference: Interval | None
    steps_ratio: float | None


def measure(outcome: Outcome) -> Measured | None:
    """Return a run in numbers, or None where it did not end."""
    result = outcome.result
    if result is None:
        return None
    record = read_run(outcome.folder)
    failures = _failures(record)
    proposed = result["totals"]["proposals"]
    duplicates = failures.get(FailureCode.DUPLICATE, 0)
    valid = proposed - sum(failures.values())
    trained = sum(len(iteration.trained) for iteration in record.iterations)
    return Measured(
        fitness=_final_fitness(result),
        preference=result["winner"] and result["winner"]["preference"],
        trainings=result["search"]["trainings"],
        skipped=valid - trained,
        env_steps=result["search"]["env_steps"],
        tokens=result["totals"]["tokens"],
        usd=result["totals"]["usd"],
        wall_s=outcome.wall_s,
        execute_rate=valid / (proposed - duplicates) if proposed > duplicates else None,
    )


def summarise(outcomes: Sequence[Outcome], baselines: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Return one row for each task and method, in the order of the outcomes.

    Args:
        outcomes: of all cells.
        baselines: by task, the arms of a comparison without a winner.
    """
    groups = by_task_and_label(outcomes)
    return [_row(task, label, group, baselines.get(task, {})) for (task, label), group in groups.items()]


def against(first: str, second: str, rows: Sequence[Row], spans: Mapping[str, float | None]) -> Against:
    """Compare two methods over the tasks that both were run on.

    Args:
        first: label of a method.
        second: label of another.
        rows: of all methods and tasks.
        spans: by task, the difference in fitness that counts as one; a task without one is left out.
    """
    table = {(row.task, row.label): row for row in rows}
    pairs = {
        task: (table[task, first], table[task, second])
        for task, label in table
        if label == first and (task, second) in table
    }
    able = [
        task
        for task, (a, b) in pairs.items()
        if spans.get(task) and min(len(a.fitnesses), len(b.fitnesses)) > 1
    ]
    difference = mean_difference(
        [pairs[task][0].fitnesses for task in able],
        [pairs[task][1].fitnesses for task in able],
        [spans[task] or 1.0 for task in able],
    )
    steps = [
        sum(row.means["env_steps"] or 0.0 for row in side)
        for side in zip(*(pairs[t] for t in able), strict=True)
    ]
    return Against(
        first=first,
        second=second,
        tasks=tuple(able),
        difference=difference,
        steps_ratio=steps[0] / steps[1] if steps and steps[1] else None,
    )


def span_of(arms: Mapping[str, Any], target: float | None) -> float | None:
    """Return how much fitness lies between a reward of zero and the target; None where that is not known."""
    zero = arms.get("zero", {}).get("fitness_iqm")
    if target is None or zero is None or target <= zero["iqm"]:
        return None
    return float(target - zero["iqm"])


def _row(task: str, label: str, group: Sequence[Outcome], arms: Mapping[str, Any]) -> Row:
    runs = [run for run in map(measure, group) if run is not None]
    fitness = [run.fitness for run in runs if run.fitness is not None]
    errors = tuple(outcome.error for outcome in group if outcome.error is not None)
    numbers = (
        "preference", "trainings", "skipped", "env_steps", "tokens", "usd", "wall_s", "execute_rate"
    )  # fmt: skip
    return Row(
        task=task,
        label=label,
        runs=tuple(runs),
        n_failed=len(errors),
        errors=errors,
        fitness=interquartile_mean(fitness) if fitness else None,
        human_normalised=_normalised(fitness, arms),
        means={name: mean([getattr(run, name) for run in runs]) for name in numbers},
    )


def _normalised(fitness: Sequence[float], arms: Mapping[str, Any]) -> float | None:
    if not fitness or any(name not in arms or arms[name]["n_failed"] for name in ("human", "sparse")):
        return None
    return human_normalised(fitness, arms["human"]["fitness"], arms["sparse"]["fitness"])


def _final_fitness(result: Mapping[str, Any]) -> float | None:
    arm = ((result["final"] or {}).get("arms") or {}).get(WINNER)
    # The mean of those that did not fail would flatter.
    return None if arm is None or arm["n_failed"] else mean(arm["fitness"])


def _failures(record: RunRecord) -> dict[str, int]:
    counts: dict[str, int] = {}
    for iteration in record.iterations:
        for code, count in iteration.failures.items():
            counts[code] = counts.get(code, 0) + count
    return counts
