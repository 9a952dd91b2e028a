"""Trainings at the task's full budget: to choose among finalists, and to compare at the end."""

from collections.abc import Sequence

from rewardsmith.errors import BudgetExhausted
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.journal.ledger import Usage
from rewardsmith.stages.selection import summary
from rewardsmith.stages.training import TrainingPlan


def full_plan(
    session: Session,
    key: str,
    *,
    source: str | None,
    baseline: str | None,
    seed: int,
    judge_seeds: Sequence[int],
) -> TrainingPlan:
    """Return a training at the task's full budget that is judged once, at its end."""
    total = session.task.file.training.total_timesteps
    return TrainingPlan(
        key=key,
        source=source,
        baseline=baseline,
        shaping=source is not None and session.config.method.train.shaping == "potential",
        seed=seed,
        judge_seeds=tuple(judge_seeds),
        checkpoints=(total,),
        rungs=(total,),
    )


def run_plans(
    session: Session, state: SearchState, plans: Sequence[TrainingPlan], label: str, announcement: str
) -> dict[str, JsonObject]:
    """Say what is done, run the plans, and return their answers by key.

    Raises:
        BudgetExhausted: they do not all fit into what is left of a budget; none is started.
        TrainerError: a trainer failed for a reason that is not a candidate's.
    """
    session.check_wall_clock(label)
    _reserve(session, state, plans)
    session.reporter.line(announcement)
    runner = state.runner(session, lambda key, checkpoint: None)
    session.reporter.begin(label, f"{label.rsplit('/')[-1]} trainings", len(plans))
    done = 0

    def on_answer(effect: Effect, answer: JsonObject, replayed: bool) -> None:
        nonlocal done
        done += 1
        fitness = summary(answer["checkpoints"][-1])["fitness"] if answer["checkpoints"] else None
        shown = "failed" if fitness is None else f"fitness {fitness:.2f}"
        session.reporter.advance(label, done, f"{effect.key} {shown}")

    effects = [
        Effect(key=p.key, request=p.request(0), run=lambda p=p: runner.advance(p, 0))  # type: ignore[misc]
        for p in plans
    ]
    try:
        answers = session.journal.effects(
            effects, workers=session.config.workers, on_answer=on_answer, cancel=runner.cancel
        )
    finally:
        runner.cancel()
        session.reporter.end(label)
    for plan, answer in zip(plans, answers, strict=True):
        session.ledger.settle(plan.key, Usage(env_steps=answer["env_steps"], trainings=1))
    return {plan.key: answer for plan, answer in zip(plans, answers, strict=True)}


def _reserve(session: Session, state: SearchState, plans: Sequence[TrainingPlan]) -> None:
    """Reserve for all plans, or for none."""
    for i, plan in enumerate(plans):
        try:
            session.ledger.reserve(plan.key, _estimate(session, state, plan))
        except BudgetExhausted:
            for reserved in plans[:i]:
                session.ledger.release(reserved.key)
            raise


def _estimate(session: Session, state: SearchState, plan: TrainingPlan) -> Usage:
    judged = len(plan.judge_seeds) * state.horizon
    return Usage(env_steps=plan.total_timesteps + state.rollout_steps + judged, trainings=1)
