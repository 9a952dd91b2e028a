"""The end of an iteration: evidence on its best candidate, and a critique of it, for the next one."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from rewardsmith.errors import BudgetExhausted, CandidateError
from rewardsmith.loop.candidates import Candidate, source_digest
from rewardsmith.loop.picturing import picture_rollouts
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.models.base import Turn
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits
from rewardsmith.stages.diagnostics import far_answer
from rewardsmith.stages.evaluator import Evaluator
from rewardsmith.stages.evidence import (
    evidence,
    extremes,
    preference_feedback,
    process_feedback,
    rescore,
    rollout_feedback,
)
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.trajectories import load_trajectories


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    evidence: dict[str, Any]
    extremes: tuple[int, int] | None
    """Which of its last judged episodes have the highest and the lowest return."""


def reflect(session: Session, state: SearchState, chosen: Sequence[Candidate]) -> None:
    """Gather what the coder is told of this iteration, if it is one that reads feedback.

    Args:
        session: the services.
        state: gets a turn more.
        chosen: the candidates that were to be trained.

    Raises:
        ModelError: the evaluator cannot be used as it was asked for.
        SandboxUnavailableError: the box failed.
    """
    if not session.coder.reads_feedback:
        return
    candidate = _representative(session, state, chosen)
    if candidate is None:
        return
    measured = _measure(session, state, candidate)
    critique = _criticise(session, state, candidate, measured)
    state.turns.append(
        Turn(
            candidate=candidate.record(session.config.method.select),
            evidence=measured.evidence,
            critique=critique,
        )
    )
    session.journal.decide(
        f"i{state.iteration:02d}/reflect",
        {
            "candidate": candidate.id,
            "evidence": session.objects.put_json(measured.evidence),
            "critique": critique and session.objects.put_json(critique),
        },
    )


def _representative(session: Session, state: SearchState, chosen: Sequence[Candidate]) -> Candidate | None:
    """Return the best that was trained in this iteration, else the best-ranked that was proposed in it."""
    select = session.config.method.select
    trained = [c for c in chosen if c.is_trained and c.failure is None]
    if trained:
        return max(trained, key=lambda c: c.score(select))
    prefix = f"i{state.iteration:02d}c"
    new = [c for c in state.candidates.values() if c.id.startswith(prefix) and c.failure is None]
    return max(new, key=lambda c: c.preference or 0.0, default=None)


def _measure(session: Session, state: SearchState, candidate: Candidate) -> _Measured:
    """Ask the box what the candidate pays for its own rollouts and for the store."""
    method = session.config.method
    stored = state.store.ranking_choice(method.store.ranked_on)
    rollouts = _own_rollouts(session, candidate)

    def run() -> JsonObject:
        spec = RewardSpec(layout=session.task.layout, action=state.action)
        failure: str | None = None
        try:
            with closing(session.sandbox.open(candidate.source, spec, SandboxLimits())) as process:
                own = rescore(process, rollouts) if rollouts is not None else None
                far = None
                if rollouts is not None:
                    far = far_answer(process.call, rollouts.transitions, session.task.layout)
                preference = preference_feedback(rescore(process, stored), method.gate)
        except CandidateError as error:
            own, far, preference, failure = None, None, None, f"{error.code}: {error.message}"
        found = evidence(
            feedback=method.feedback,
            process=process_feedback(candidate.checkpoints, own, far) if candidate.is_trained else None,
            rollouts=rollout_feedback(own, session.task.layout) if own is not None else [],
            preference=preference,
            failure=failure,
        )
        return {
            "evidence": session.objects.put_json(found),
            "extremes": extremes(own) if own is not None else None,
        }

    answer = session.journal.effect(
        Effect(
            key=f"i{state.iteration:02d}/evidence",
            request={
                "candidate": candidate.id,
                "source": source_digest(candidate.source),
                "store": list(state.store.refs),
            },
            run=run,
        )
    )
    found = session.objects.get_json(answer["evidence"])
    return _Measured(evidence=found, extremes=answer["extremes"] and tuple(answer["extremes"]))


def _own_rollouts(session: Session, candidate: Candidate) -> TrajectoryStore | None:
    if not candidate.is_trained:
        return None
    ref = candidate.checkpoints[-1]["trajectories"]
    return TrajectoryStore().grown(load_trajectories(session.objects.get_bytes(ref)), ref)


def _criticise(
    session: Session, state: SearchState, candidate: Candidate, measured: _Measured
) -> Mapping[str, Any] | None:
    """Ask the evaluator; a critique that is not to be had is told, and the run goes on without."""
    config = session.config.evaluator
    if config is None or not session.config.method.feedback.critique:
        return None
    evaluator = Evaluator(ask=session.ask, max_tokens=config.max_tokens)
    try:
        rubric = _rubric(session, state, evaluator)
        critique, reason = evaluator.critique(
            f"i{state.iteration:02d}/critique",
            state.opening_brief,
            candidate.source,
            measured.evidence,
            rubric,
            _images(session, state, candidate, measured),
        )
    except BudgetExhausted as verdict:
        critique, reason = None, str(verdict)
    if critique is None:
        session.reporter.line(f"  no critique of {candidate.id}: {reason}")
    else:
        session.reporter.line(f"  critique of {candidate.id}: {critique['diagnosis'][:160]}")
    return critique


def _rubric(session: Session, state: SearchState, evaluator: Evaluator) -> Mapping[str, Any] | None:
    """Return the task's rubric; it is written once, when it is first needed."""
    if not state.rubric:
        rubric, reason = evaluator.rubric(state.opening_brief)
        if rubric is None:
            session.reporter.line(f"  no rubric: {reason}")
        state.rubric = (rubric,)
    return state.rubric[0]


def _images(
    session: Session, state: SearchState, candidate: Candidate, measured: _Measured
) -> tuple[bytes, ...]:
    """Return a contact sheet of the best and the worst rollout, where the method wants one."""
    if not session.config.method.feedback.visual or measured.extremes is None:
        return ()
    sheet, reason = picture_rollouts(session, state, candidate, measured.extremes)
    if sheet is None:
        session.reporter.line(f"  no pictures: {reason}")
        return ()
    return (sheet,)
