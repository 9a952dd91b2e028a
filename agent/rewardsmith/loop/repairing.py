"""Sends proposals that failed before training back to a coder that mends them, a bounded number of times."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from rewardsmith.errors import BudgetExhausted, FailureCode
from rewardsmith.loop.candidates import Candidate, source_digest
from rewardsmith.loop.failures import failure_notes
from rewardsmith.loop.proposing import proposal_request, screen_batch, turn_down_duplicates
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.models.base import Broken, Proposal

_NOT_REPAIRED = frozenset({FailureCode.DUPLICATE, FailureCode.MODEL_ERROR})
"""A duplicate works as it is; a call that failed after all its attempts has had its chances."""


def repair(session: Session, state: SearchState, new: Sequence[Candidate]) -> None:
    """Let the coder mend what failed, and screen it again.

    A budget that leaves no room for repairs leaves the broken ones as they are; the run goes on.

    Raises:
        ModelError, ModelUnavailableError: as model calls do.
        SandboxUnavailableError: the box failed.
    """
    if not session.coder.reads_feedback:
        return
    for attempt in range(1, session.config.method.repair.attempts + 1):
        broken = [c for c in new if c.failure is not None and c.failure not in _NOT_REPAIRED]
        if not broken:
            return
        session.reporter.line(f"  {len(broken)} do not run; asking to mend them, attempt {attempt}")
        try:
            mended = _ask(session, state, broken, attempt)
        except BudgetExhausted as verdict:
            session.reporter.line(f"  they are not mended: {verdict}")
            return
        # A call that failed leaves what there was: it may still be mended in the next attempt.
        answered = [
            (candidate, proposal)
            for candidate, proposal in zip(broken, mended, strict=False)
            if proposal.failure != FailureCode.MODEL_ERROR
        ]
        for candidate, proposal in answered:
            candidate.replace_by(proposal)
        replaced = [candidate for candidate, _ in answered]
        turn_down_duplicates(state, replaced)
        usable = [c for c in replaced if c.failure is None]
        if usable:
            screen_batch(session, state, usable, f"i{state.iteration:02d}/screen/repair{attempt}")


def _ask(session: Session, state: SearchState, broken: Sequence[Candidate], attempt: int) -> list[Proposal]:
    # Without what failed in this iteration: the conversation stays the one in which it was proposed.
    prefix = f"i{state.iteration:02d}c"
    earlier = [c for c in state.candidates.values() if not c.id.startswith(prefix)]
    failures = failure_notes(earlier, session.config.method.propose.failures)
    request = replace(proposal_request(session, state), failures=failures)
    rows = [
        Broken(key=c.key, proposal=c.proposal, failure=c.failure, message=c.message)
        for c in broken
        if c.failure is not None
    ]
    proposals = session.coder.repair(request, rows, attempt, session.ask)

    def run() -> JsonObject:
        mended = {c.id: asdict(p) for c, p in zip(broken, proposals, strict=False)}
        return {"proposals": session.objects.put_json(mended)}

    sources = {c.id: source_digest(c.source) for c in broken}
    effect = Effect(key=f"i{state.iteration:02d}/repair{attempt}", request={"sources": sources}, run=run)
    recorded = session.objects.get_json(session.journal.effect(effect)["proposals"])
    return [Proposal.from_json(recorded[c.id]) for c in broken if c.id in recorded]
