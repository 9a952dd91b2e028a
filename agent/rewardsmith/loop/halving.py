"""The second half of an iteration: train the chosen candidates rung by rung, judge them, select."""

from collections.abc import Mapping, Sequence
from typing import Any

from rewardsmith.errors import BudgetExhausted, FailureCode
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState, judge_seeds, training_seed, validation_sample
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.journal.ledger import Usage
from rewardsmith.stages.selection import score, summary, survivors
from rewardsmith.stages.training import TrainingPlan, TrainingRunner
from rewardsmith.trajectories import load_trajectories


def train_candidates(session: Session, state: SearchState, chosen: Sequence[Candidate]) -> None:
    """Train the candidates with successive halving and let their judged episodes join the store.

    Raises:
        BudgetExhausted: not one training fits into what is left of a budget.
        TrainerError: a trainer failed for a reason that is not a candidate's.
        SandboxUnavailableError: the box failed.
    """
    plans = {c.id: _plan(session, state, c) for c in chosen}
    runner = state.runner(session, _shower(session))
    racing = list(chosen)
    try:
        for rung in range(len(session.config.method.train.rungs)):
            session.check_wall_clock(f"i{state.iteration:02d}/rung{rung + 1}")
            racing = _affordable(session, state, racing, plans, rung)
            if rung:
                for candidate in chosen:
                    if candidate not in racing:
                        runner.stop(plans[candidate.id].key)
            _run_rung(session, runner, racing, plans, rung)
            racing = _cut(session, state, [c for c in racing if c.failure is None], rung)
    finally:
        runner.cancel()
    for candidate in sorted(chosen, key=lambda c: c.id):
        for checkpoint in candidate.checkpoints:
            ref = checkpoint["trajectories"]
            state.store = state.store.grown(load_trajectories(session.objects.get_bytes(ref)), ref)


def _plan(session: Session, state: SearchState, candidate: Candidate) -> TrainingPlan:
    assert candidate.reward is not None
    train = session.config.method.train
    total = train.budget * session.task.file.training.total_timesteps
    rungs = [max(1, round(share * total)) for share in train.rungs]
    checkpoints: list[int] = []
    for previous, rung in zip([0, *rungs], rungs, strict=False):
        n = train.checkpoints_per_rung
        checkpoints += [previous + round((rung - previous) * (k + 1) / n) for k in range(n)]
    return TrainingPlan(
        key=candidate.key,
        source=candidate.source,
        shaping=train.shaping == "potential",
        seed=training_seed(session, candidate.key),
        judge_seeds=judge_seeds(session),
        checkpoints=tuple(dict.fromkeys(checkpoints)),
        rungs=tuple(rungs),
        reference=(validation_sample(session, state), candidate.reward),
    )


def _affordable(
    session: Session,
    state: SearchState,
    racing: Sequence[Candidate],
    plans: Mapping[str, TrainingPlan],
    rung: int,
) -> list[Candidate]:
    """Reserve what each training will use; those that do not fit any more are left out."""
    fit: list[Candidate] = []
    for candidate in racing:
        plan = plans[candidate.id]
        try:
            session.ledger.reserve(_effect_key(plan, rung), _estimate(session, state, plan, rung))
        except BudgetExhausted as verdict:
            if not fit:
                raise
            session.reporter.line(f"{candidate.id} is not trained on: {verdict}")
            break
        fit.append(candidate)
    return fit


def _estimate(session: Session, state: SearchState, plan: TrainingPlan, rung: int) -> Usage:
    before = plan.rungs[rung - 1] if rung else 0
    n_judged = sum(before < step <= plan.rungs[rung] for step in plan.checkpoints)
    for_each_checkpoint = len(plan.judge_seeds) * state.horizon + state.rollout_steps
    return Usage(
        env_steps=plan.rungs[rung] - before + n_judged * for_each_checkpoint, trainings=0 if rung else 1
    )


def _run_rung(
    session: Session,
    runner: TrainingRunner,
    racing: Sequence[Candidate],
    plans: Mapping[str, TrainingPlan],
    rung: int,
) -> None:
    effects = [
        Effect(
            key=_effect_key(plan, rung),
            request=plan.request(rung),
            run=lambda plan=plan: runner.advance(plan, rung),  # type: ignore[misc]
        )
        for plan in (plans[c.id] for c in racing)
    ]
    for candidate in racing:
        plan = plans[candidate.id]
        session.reporter.begin(plan.key, candidate.id, plan.rungs[rung])

    def on_answer(effect: Effect, answer: JsonObject, replayed: bool) -> None:
        session.reporter.end(effect.key.rsplit("/train/")[0])

    answers = session.journal.effects(
        effects, workers=session.config.workers, on_answer=on_answer, cancel=runner.cancel
    )
    for candidate, answer in zip(racing, answers, strict=True):
        used = Usage(env_steps=answer["env_steps"], trainings=0 if rung else 1)
        session.ledger.settle(_effect_key(plans[candidate.id], rung), used)
        candidate.checkpoints += answer["checkpoints"]
        if answer["failure"] is not None:
            candidate.fail(FailureCode(answer["failure"]["code"]), answer["failure"]["message"])
            session.reporter.line(f"{candidate.id} failed in training: {candidate.message}")


def _cut(session: Session, state: SearchState, racing: Sequence[Candidate], rung: int) -> list[Candidate]:
    """Decide who goes on after a rung."""
    scores = {c.id: score(c.checkpoints[-1]) for c in racing}
    is_last = rung == len(session.config.method.train.rungs) - 1
    kept = [] if is_last or not scores else survivors(scores, session.config.method.train.survivors)
    session.journal.decide(
        f"i{state.iteration:02d}/rung{rung + 1}",
        {"judged": {c.id: summary(c.checkpoints[-1]) for c in racing}, "kept": kept},
    )
    for candidate in racing:
        end = "" if is_last or candidate.id in kept else "  stopped"
        session.reporter.line(f"  {candidate.id}  {_shown(candidate)}{end}")
    return [c for c in racing if c.id in kept]


def _shown(candidate: Candidate) -> str:
    last = candidate.checkpoints[-1]
    means = summary(last)
    parts = [f"step {last['step']:>6}"]
    parts += [f"{name} {means[name]:.2f}" for name in ("fitness", "progress") if means[name] is not None]
    return "  ".join(parts)


def _shower(session: Session) -> Any:
    def show(key: str, checkpoint: Mapping[str, Any]) -> None:
        fitness = summary(checkpoint)["fitness"]
        session.reporter.advance(key, checkpoint["planned_step"], f"fitness {fitness:.2f}")

    return show


def _effect_key(plan: TrainingPlan, rung: int) -> str:
    return f"{plan.key}/train/r{rung + 1}"
