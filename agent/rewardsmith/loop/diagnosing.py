"""Looks at what an iteration trained: does a reward's return follow fitness, and which rewards are alike?"""

from collections.abc import Sequence
from contextlib import closing

import numpy as np

from rewardsmith.errors import CandidateError
from rewardsmith.loop.candidates import Candidate, source_digest
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState
from rewardsmith.seeds import derive_seed
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits
from rewardsmith.stages.diagnostics import goodhart_step, rank_correlation
from rewardsmith.stages.distance import EpicSample, canonical, distances, epic_sample
from rewardsmith.types import FloatArray


def diagnose(session: Session, state: SearchState, chosen: Sequence[Candidate]) -> None:
    """Record diagnostics of the candidates that were trained; no decision depends on them.

    Raises:
        SandboxUnavailableError: the box failed.
    """
    trained = [c for c in chosen if c.is_trained and c.failure is None]
    if not trained:
        return
    best = state.candidates[state.best] if state.best is not None else None
    compared = trained if best is None or best in trained else [*trained, best]
    for candidate in trained:
        candidate.rank_correlation = rank_correlation(candidate.checkpoints)
        candidate.goodhart_step = goodhart_step(candidate.checkpoints)
    session.journal.decide(
        f"i{state.iteration:02d}/diagnose",
        {
            "candidates": {
                c.id: {"rank_correlation": c.rank_correlation, "goodhart_step": c.goodhart_step}
                for c in trained
            },
            "epic": _distances(session, state, compared),
        },
    )


def _distances(session: Session, state: SearchState, compared: Sequence[Candidate]) -> JsonObject:
    """Return the EPIC distances: ids, and the rows of the matrix with None for what did not answer."""
    store = state.store.ranking_choice(session.config.method.store.ranked_on)
    gamma = session.task.file.training.gamma
    seed = derive_seed(session.config.seed, "validate", f"epic/i{state.iteration:02d}")

    def run() -> JsonObject:
        sample = epic_sample(store, seed, gamma)
        found = [_canonical(session, state, c, sample) for c in compared]
        known = [i for i, values in enumerate(found) if values is not None]
        table: list[list[float | None]] = [[None] * len(found) for _ in found]
        matrix = distances([values for values in found if values is not None])
        for row, i in enumerate(known):
            for column, j in enumerate(known):
                table[i][j] = float(matrix[row, column])
        return {"ids": [c.id for c in compared], "distances": table}

    return session.journal.effect(
        Effect(
            key=f"i{state.iteration:02d}/epic",
            request={
                "sources": [source_digest(c.source) for c in compared],
                "store": list(state.store.refs),
                "seed": seed,
            },
            run=run,
        )
    )


def _canonical(
    session: Session, state: SearchState, candidate: Candidate, sample: EpicSample
) -> FloatArray | None:
    spec = RewardSpec(layout=session.task.layout, action=state.action)
    try:
        with closing(session.sandbox.open(candidate.source, spec, SandboxLimits())) as process:
            return np.asarray(canonical(lambda batch: process.call(batch).reward, sample))
    except CandidateError:
        # States and next states that never met may be more than a reward is made for.
        return None
