"""The final comparison: the winner retrained with fresh seeds at full budget, beside the task's baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rewardsmith.errors import BudgetExhausted
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.full_budget import full_plan, run_plans
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState
from rewardsmith.seeds import derive_seed, episode_seeds
from rewardsmith.services.journal.journal import JsonObject
from rewardsmith.stages.comparison import human_normalised, interquartile_mean
from rewardsmith.stages.selection import summary
from rewardsmith.stages.training import TrainingPlan

WINNER = "winner"
LABEL = "final"
_MEASURES = ("fitness", "progress", "success", "success_last")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finals:
    """What the final comparison found.

    Attributes:
        arms: by name (`winner`, `human`, ...): `fitness` and further measures as one value per seed, their
            interquartile means and intervals, and `failure`.
        human_normalised: of the winner, or None.
        note: why the comparison is missing or incomplete; empty where it is whole.
    """

    arms: dict[str, dict[str, Any]]
    human_normalised: float | None
    note: str = ""


def compare(session: Session, state: SearchState, winner: Candidate | None) -> Finals:
    """Train winner (if any) and baselines with the same fresh seeds, judged on the same fresh episodes."""
    final = session.config.method.final
    if final.seeds == 0:
        return Finals(arms={}, human_normalised=None, note="left out, since final.seeds is 0")
    names = [*((WINNER,) if winner else ()), *(session.task.file.baselines if final.baselines else ())]
    plans = [_plan(session, winner, name, i) for i in range(final.seeds) for name in names]
    steps = session.task.file.training.total_timesteps
    what = f"Final comparison: {', '.join(names)}, {final.seeds} fresh seeds each, {steps} steps"
    try:
        answers = run_plans(session, state, plans, LABEL, what)
    except BudgetExhausted as verdict:
        return Finals(arms={}, human_normalised=None, note=f"left out for the budget: {verdict}")
    arms = {name: _arm([answers[p.key] for p in plans if p.key.split("/")[1] == name]) for name in names}
    finals = Finals(arms=arms, human_normalised=_normalised(arms))
    session.journal.decide(LABEL, asdict(finals))
    return finals


def _plan(session: Session, winner: Candidate | None, name: str, index: int) -> TrainingPlan:
    seed = session.config.seed
    return full_plan(
        session,
        f"{LABEL}/{name}/s{index}",
        source=winner.source if winner is not None and name == WINNER else None,
        baseline=None if name == WINNER else name,
        # Arms share their seeds, so that they differ in their reward alone.
        seed=derive_seed(seed, "final_train", f"s{index}"),
        judge_seeds=episode_seeds(seed, "final_judge", session.task.file.judge.final_episodes, f"s{index}"),
    )


def _arm(answers: Sequence[JsonObject]) -> dict[str, Any]:
    judged = [summary(a["checkpoints"][-1]) for a in answers if a["failure"] is None]
    failures = [a["failure"] for a in answers if a["failure"] is not None]
    arm: dict[str, Any] = {"failure": failures[0] if failures else None, "n_failed": len(failures)}
    for name in _MEASURES:
        values = [means[name] for means in judged]
        known = [value for value in values if value is not None]
        arm[name] = values
        arm[f"{name}_iqm"] = asdict(interquartile_mean(known)) if known else None
    return arm


def _normalised(arms: Mapping[str, Mapping[str, Any]]) -> float | None:
    try:
        fitness = [arms[name]["fitness"] for name in (WINNER, "human", "sparse")]
    except KeyError:
        return None
    # The mean of those that did not fail would flatter an arm.
    if any(arms[name]["n_failed"] for name in (WINNER, "human", "sparse")):
        return None
    return human_normalised(*fitness)
