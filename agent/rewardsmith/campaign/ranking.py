"""What a ranking by trajectory preference is worth: do the proposals that it puts first train to success?"""

from collections.abc import Sequence
from dataclasses import dataclass

from rewardsmith.campaign.cells import Variant
from rewardsmith.campaign.running import Outcome, by_task_and_label
from rewardsmith.loop.records import Judged, read_run

RULES = ("pairwise", "success", "card_paper", "card_code", "none")
STORES = {
    "random": ("store.episodes=120",),
    "expert": ("store.episodes=60", "store.expert_episodes=60"),
}
"""Settings of the stores that proposals are ranked on, of equal size."""

SETTINGS = (
    "propose.candidates=1500",
    "gate.threshold=0.0",
    "train.keep=4",
    "train.max_correlation=0.9",
    "train.budget=1.0",
    "train.rungs=[1.0]",
    "train.checkpoints_per_rung=2",
    "select.finalists=0",
    "stop.iterations=1",
    "final.seeds=0",
)
"""One iteration in which the four that are ranked first train at the task's whole budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRow:
    """How the first-ranked of one rule and store trained, on one task, over seeds.

    Attributes:
        task: its name.
        store: `random` or `expert`.
        rule: of the gate.
        trained: trainings.
        solved_half: those whose policy was good enough after half of the budget.
        solved: those whose policy was so at one of both checkpoints.
        fitness: mean of the better checkpoint's fitness, or None where nothing trained.
        runs: runs that ended.
        undetermined: runs whose store told no two trajectories apart, so that nothing was ranked.
    """

    task: str
    store: str
    rule: str
    trained: int
    solved_half: int
    solved: int
    fitness: float | None
    runs: int
    undetermined: int


def ranking_variants(rules: Sequence[str] = RULES, settings: Sequence[str] = ()) -> list[Variant]:
    """Return one variant of the default method for each store and rule, labelled `store/rule`.

    Args:
        rules: values of `gate.rule`.
        settings: `key=value` that go before ours.
    """
    return [
        Variant(f"{store}/{rule}", "rewardsmith", (*SETTINGS, *of_store, *settings, f"gate.rule={rule}"))
        for store, of_store in STORES.items()
        for rule in rules
    ]


def rank_rows(outcomes: Sequence[Outcome], solved_at: float) -> list[RankingRow]:
    """Return one row for each task, store and rule.

    Args:
        outcomes: of cells made of `ranking_variants`.
        solved_at: fitness from which on a policy counts as good enough.
    """
    groups = by_task_and_label(outcomes)
    return [_row(task, label, group, solved_at) for (task, label), group in groups.items()]


def _row(task: str, label: str, group: Sequence[Outcome], solved_at: float) -> RankingRow:
    records = [read_run(outcome.folder) for outcome in group if outcome.result is not None]
    iterations = [iteration for record in records for iteration in record.iterations]
    trained = [t.checkpoints for i in iterations for t in i.trained if t.checkpoints]
    best = [max(map(_fitness, checkpoints)) for checkpoints in trained]
    store, rule = label.split("/")
    return RankingRow(
        task=task,
        store=store,
        rule=rule,
        trained=len(trained),
        solved_half=sum(_fitness(checkpoints[0]) >= solved_at for checkpoints in trained),
        solved=sum(fitness >= solved_at for fitness in best),
        fitness=sum(best) / len(best) if best else None,
        runs=len(records),
        undetermined=sum(iteration.undetermined for iteration in iterations),
    )


def _fitness(checkpoint: Judged) -> float:
    fitness = checkpoint["fitness"]
    assert fitness is not None
    return fitness
