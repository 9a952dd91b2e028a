"""Trains challengers of the best candidate again, at full budget, before they may replace it.

A search tries many candidates with one short training each, so the best of them is partly lucky: under one
and the same reward, one seed may solve a task that the next does not.
"""

from rewardsmith.errors import FailureCode
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.full_budget import full_plan, run_plans
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState
from rewardsmith.seeds import derive_seed, episode_seeds
from rewardsmith.stages.training import TrainingPlan
from rewardsmith.trajectories import load_trajectories


def confirm(session: Session, state: SearchState) -> None:
    """Confirm the candidates that beat the best so far; their episodes join the store.

    Raises:
        BudgetExhausted: the trainings do not fit into what is left of a budget.
        TrainerError: a trainer failed for a reason that is not a candidate's.
    """
    challengers = _challengers(session, state)
    if not challengers:
        return
    plans = {c.id: _plans(session, c) for c in challengers}
    n_seeds = session.config.method.select.confirm_seeds
    answers = run_plans(
        session,
        state,
        [p for each in plans.values() for p in each],
        f"i{state.iteration:02d}/confirm",
        f"  confirming {', '.join(plans)} at full budget, {n_seeds} fresh seeds each",
    )
    for candidate in sorted(challengers, key=lambda c: c.id):
        for plan in plans[candidate.id]:
            answer = answers[plan.key]
            if answer["failure"] is not None:
                candidate.fail(FailureCode(answer["failure"]["code"]), answer["failure"]["message"])
                break
            checkpoint = answer["checkpoints"][-1]
            candidate.confirmed.append(checkpoint)
            ref = checkpoint["trajectories"]
            state.store = state.store.grown(load_trajectories(session.objects.get_bytes(ref)), ref)
    select = session.config.method.select
    session.journal.decide(
        f"i{state.iteration:02d}/confirm",
        {"judged": {c.id: c.judged(select) for c in challengers if c.failure is None}},
    )
    for candidate in challengers:
        if candidate.failure is None:
            fitness, progress = candidate.score(select)
            session.reporter.line(
                f"  {candidate.id}  confirmed: fitness {fitness:.2f}  progress {progress:.2f}"
            )


def _challengers(session: Session, state: SearchState) -> list[Candidate]:
    """Return the best of those not confirmed yet that beat the best so far, and a random policy."""
    select = session.config.method.select
    floor = (state.random_fitness, float("inf"))
    if state.best is not None:
        floor = max(floor, state.candidates[state.best].score(select))
    able = [c for c in state.trained if c.failure is None and not c.confirmed and c.score(select) > floor]
    able.sort(key=lambda c: c.score(select), reverse=True)
    return able[: select.finalists]


def _plans(session: Session, candidate: Candidate) -> list[TrainingPlan]:
    seed, n_episodes = session.config.seed, session.task.file.judge.episodes
    return [
        full_plan(
            session,
            f"{candidate.key}/confirm/s{i}",
            source=candidate.source,
            baseline=None,
            # Candidates share their seeds, so that luck is shared.
            seed=derive_seed(seed, "confirm", f"s{i}"),
            judge_seeds=episode_seeds(seed, "confirm", n_episodes, f"s{i}"),
        )
        for i in range(session.config.method.select.confirm_seeds)
    ]
