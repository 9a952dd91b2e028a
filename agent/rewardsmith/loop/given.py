"""A reward that was given instead of searched for: screened, ranked and looked at like a candidate."""

from contextlib import closing
from typing import Any

import numpy as np

from rewardsmith.loop.candidates import Candidate, candidate_id, source_digest
from rewardsmith.loop.proposing import screen_candidates
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState, validation_sample
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.models.base import Proposal
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits
from rewardsmith.stages.diagnostics import component_remarks, far_answer, rank_correlation, shares
from rewardsmith.stages.gates import rate
from rewardsmith.types import FloatArray

GIVEN = candidate_id(0, 0)
"""The name of a given reward in its run."""
DECISION = "given"


def take_given(session: Session, state: SearchState) -> str:
    """Screen the given reward, and let it be the run's best unless it is turned down.

    Whether trajectory preference would let it train is recorded and decides nothing: it was asked for.

    Returns:
        How that ended, in words.

    Raises:
        SandboxUnavailableError: the box failed.
    """
    source, origin = session.config.reward, session.config.reward_origin
    assert source is not None
    candidate = Candidate(id=GIVEN, proposal=Proposal(source=source, origin=origin))
    state.candidates[GIVEN] = candidate
    screen_candidates(session, state, [candidate])
    report: JsonObject = {"failure": candidate.failure, "message": candidate.message}
    if candidate.failure is None:
        state.best = GIVEN
        report |= _preferred(session, state, candidate) | _examine(session, state, candidate)
    session.journal.decide(DECISION, report)
    state.given = report
    if candidate.failure is not None:
        return f"turned down: {candidate.failure}: {candidate.message}"
    return f"given: {origin} passed validation"


def _preferred(session: Session, state: SearchState, candidate: Candidate) -> JsonObject:
    """Rate it on the stored episodes and return the verdict."""
    gate = session.config.method.gate
    store = state.store.ranking_choice(session.config.method.store.ranked_on)
    assert candidate.returns is not None
    verdicts = rate([candidate.returns], store, gate)
    candidate.preference = None if verdicts.scores is None else float(verdicts.scores[0])
    return {
        "preference": candidate.preference,
        "needed": verdicts.needed,
        "n_trajectories": len(store.trajectories),
        "n_pairs": verdicts.n_compared,
    }


def _examine(session: Session, state: SearchState, candidate: Candidate) -> JsonObject:
    """Return the statistics of reward and components on stored transitions, with remarks."""
    batch = validation_sample(session, state)
    spec = RewardSpec(layout=session.task.layout, action=state.action)

    def run() -> JsonObject:
        with closing(session.sandbox.open(candidate.source, spec, SandboxLimits())) as process:
            own = process.call(batch)
            far = far_answer(process.call, batch, session.task.layout)
        brought, remarks = shares(own), component_remarks(own, far)
        components = {
            name: {**_statistics(values), "share": brought.get(name), "remarks": remarks[name]}
            for name, values in own.components.items()
        }
        return {"reward": _statistics(own.reward), "components": components}

    request = {"source": source_digest(candidate.source), "store": list(state.store.refs)}
    found = session.journal.effect(Effect(key="i00/examine", request=request, run=run))
    return {**found, "rank_correlation": _follows_fitness(session, state, candidate)}


def _statistics(values: FloatArray) -> dict[str, Any]:
    return {
        "mean": float(np.mean(values)),
        "std": float(np.std(values)),
        "min": float(np.min(values)),
        "max": float(np.max(values)),
    }


def _follows_fitness(session: Session, state: SearchState, candidate: Candidate) -> float | None:
    """Return the rank correlation of its returns with fitness over the stored episodes."""
    store = state.store.ranking_choice(session.config.method.store.ranked_on)
    assert candidate.returns is not None
    return rank_correlation(
        [
            {
                "return": [float(value) for value in candidate.returns],
                "fitness": [t.fitness for t in store.trajectories],
                "progress": [t.progress for t in store.trajectories],
            }
        ]
    )
