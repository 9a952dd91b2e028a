"""The first half of an iteration: propose, screen, prefer."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rewardsmith.arrays import dump_arrays, load_arrays
from rewardsmith.contract.static_checks import normalised_ast
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.loop.candidates import Candidate, new_candidates, source_digest
from rewardsmith.loop.failures import failure_notes
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState, validation_sample
from rewardsmith.seeds import derive_seed
from rewardsmith.services.chat.calls import no_calls
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.models.base import CandidateRecord, Proposal, ProposeRequest
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits
from rewardsmith.stages.gates import rate
from rewardsmith.stages.screening import screen
from rewardsmith.stages.selection import choose_for_training
from rewardsmith.types import FloatArray

N_SHOWN = 10
"""Best-ranked candidates that a decision names, for those who read the journal."""


def proposal_request(session: Session, state: SearchState) -> ProposeRequest:
    """Return what the coder is asked for in this iteration."""
    it, config = state.iteration, session.config.method.propose
    n_turns = config.history_turns
    best = state.candidates[state.best] if state.best is not None else None
    return ProposeRequest(
        # A model's prompt must not change with the store, or no cache would hold it.
        brief=state.opening_brief if session.coder.reads_feedback else state.brief(session),
        n=config.candidates or session.coder.preferred_candidates,
        seed=derive_seed(session.config.seed, "propose", f"i{it:02d}"),
        iteration=it,
        history=() if config.parent == "none" else _history(session, state),
        turns=() if config.parent == "none" or not n_turns else tuple(state.turns[-n_turns:]),
        best=None if best is None or config.parent != "best" else best.record(session.config.method.select),
        failures=failure_notes(state.candidates.values(), config.failures),
    )


def propose(session: Session, state: SearchState) -> list[Candidate]:
    """Ask the coder for proposals; duplicates of earlier code are turned down."""
    it = state.iteration
    request = proposal_request(session, state)
    # Model calls are effects of their own: on replay they settle their budgets, then give the same answers.
    called = session.coder.propose(request, session.ask) if session.coder.reads_feedback else None

    def run() -> JsonObject:
        proposals = session.coder.propose(request, no_calls) if called is None else called
        return {"proposals": session.objects.put_json([asdict(p) for p in proposals])}

    answer = session.journal.effect(
        Effect(
            key=f"i{it:02d}/propose",
            request={
                "model": session.config.model.name,
                "n": request.n,
                "seed": request.seed,
                "history": _digest([asdict(r) for r in request.history]),
            },
            run=run,
        )
    )
    rows: list[dict[str, Any]] = session.objects.get_json(answer["proposals"])
    new = new_candidates(it, [Proposal.from_json(row) for row in rows])
    turn_down_duplicates(state, new)
    state.candidates.update((c.id, c) for c in new)
    return new


def screen_candidates(session: Session, state: SearchState, new: Sequence[Candidate]) -> None:
    """Validate the new candidates and score all that matter on the store as it is now."""
    batch = [c for c in new if c.failure is None] + _carried(session, state, new)
    screen_batch(session, state, batch, f"i{state.iteration:02d}/screen")


def screen_batch(session: Session, state: SearchState, batch: Sequence[Candidate], key: str) -> None:
    """Validate and score candidates, as the one effect `key`."""
    store = state.store.ranking_choice(session.config.method.store.ranked_on)

    def run() -> JsonObject:
        results = screen(
            [c.source for c in batch],
            sandbox=session.sandbox,
            spec=RewardSpec(layout=session.task.layout, action=state.action),
            limits=SandboxLimits(),
            store=store,
            sample=validation_sample(session, state),
            gate=session.config.method.gate,
            gamma=session.task.file.training.gamma,
            workers=session.config.workers,
            shaping=session.config.method.train.shaping == "potential",
        )
        rows = [{"failure": r.failure, "message": r.message, "is_constant": r.is_constant} for r in results]
        returns = [r.returns for r in results if r.returns is not None]
        reward = [r.reward for r in results if r.reward is not None]
        arrays = {"returns": np.stack(returns), "reward": np.stack(reward)} if returns else {}
        return {
            "rows": session.objects.put_json(rows),
            "arrays": session.objects.put_bytes(dump_arrays(arrays)),
        }

    sources = _digest([source_digest(c.source) for c in batch])
    request = {"sources": sources, "store": list(store.refs)}
    answer = session.journal.effect(Effect(key=key, request=request, run=run))
    arrays = load_arrays(session.objects.get_bytes(answer["arrays"]))
    scored = iter(zip(arrays.get("returns", ()), arrays.get("reward", ()), strict=True))
    for candidate, row in zip(batch, session.objects.get_json(answer["rows"]), strict=True):
        candidate.is_constant = row["is_constant"]
        if row["failure"] is None:
            candidate.returns, candidate.reward = next(scored)
        elif candidate.is_trained:
            # It has proved itself in training; one slow answer now must not cost the run its best.
            candidate.forget_scores()
        else:
            candidate.fail(FailureCode(row["failure"]), row["message"])


def prefer(session: Session, state: SearchState) -> list[Candidate]:
    """Rank by trajectory preference and return the candidates to train, best first."""
    method = session.config.method
    store = state.store.ranking_choice(method.store.ranked_on)
    scored = [c for c in state.candidates.values() if c.returns is not None]
    verdicts = rate([_array(c.returns) for c in scored], store, method.gate)
    for i, candidate in enumerate(scored):
        candidate.preference = None if verdicts.scores is None else float(verdicts.scores[i])
    race = [c for c in scored if c.is_in_race]
    chosen = choose_for_training(
        [c.preference for c in race], [_array(c.reward) for c in race], method.gate, method.train
    )
    ranked = sorted(race, key=lambda c: -(c.preference or 0.0))
    new = [c for c in state.candidates.values() if c.id.startswith(f"i{state.iteration:02d}c")]
    session.journal.decide(
        f"i{state.iteration:02d}/prefer",
        {
            "n_proposed": len(new),
            "n_constant": sum(c.is_constant for c in new),
            "failures": dict(sorted(Counter(str(c.failure) for c in new if c.failure).items())),
            "n_trajectories": len(store.trajectories),
            "n_pairs": verdicts.n_compared,
            "undetermined": verdicts.scores is None and method.gate.rule != "none",
            "needed": verdicts.needed,
            "best": [{"id": c.id, "preference": c.preference} for c in ranked[:N_SHOWN]],
            "chosen": [{"id": race[i].id, "preference": race[i].preference} for i in chosen],
        },
    )
    for i in chosen:
        race[i].was_chosen = True
    return [race[i] for i in chosen]


def forget_losers(session: Session, state: SearchState) -> None:
    """Drop the score arrays of all but the carried candidates, which are scored again on the grown store."""
    keep = {c.id for c in _carried(session, state, ())}
    for candidate in state.candidates.values():
        if candidate.id not in keep:
            candidate.forget_scores()


def _history(session: Session, state: SearchState) -> tuple[CandidateRecord, ...]:
    wanted = {c.id for c in state.trained} | {c.id for c in _carried(session, state, ())}
    wanted |= {c.id for c in state.candidates.values() if c.was_chosen}
    return tuple(c.record(session.config.method.select) for c in state.candidates.values() if c.id in wanted)


def _carried(session: Session, state: SearchState, new: Sequence[Candidate]) -> list[Candidate]:
    """Return earlier candidates that are still ranked: the trained ones and the best of the others."""
    new_ids = {c.id for c in new}
    earlier = [c for c in state.candidates.values() if c.failure is None and c.id not in new_ids]
    race = [c for c in earlier if c.is_in_race and c.preference is not None]
    race.sort(key=lambda c: -(c.preference or 0.0))
    best = {c.id for c in race[: session.config.method.propose.carry]}
    return [c for c in earlier if c.is_trained or c.id in best]


def turn_down_duplicates(state: SearchState, new: Sequence[Candidate]) -> None:
    """Turn down code that an earlier candidate, or an earlier one of these, has already."""
    first: dict[str, str] = {}
    others = [c for c in state.candidates.values() if c not in new]
    for candidate in [*others, *new]:
        try:
            form = normalised_ast(candidate.source)
        except CandidateError:
            continue
        if first.setdefault(form, candidate.id) != candidate.id and candidate.failure is None:
            candidate.fail(FailureCode.DUPLICATE, f"the same code as {first[form]} but for names and layout")


def _array(values: FloatArray | None) -> FloatArray:
    assert values is not None
    return values


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, allow_nan=False).encode()).hexdigest()
