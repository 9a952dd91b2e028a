"""The loop: propose, screen, prefer, train, judge, select, until it is time to stop."""

from rewardsmith.errors import BudgetExhausted
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.confirm import confirm
from rewardsmith.loop.diagnosing import diagnose
from rewardsmith.loop.given import take_given
from rewardsmith.loop.halving import train_candidates
from rewardsmith.loop.proposing import forget_losers, prefer, propose, screen_candidates
from rewardsmith.loop.reflecting import reflect
from rewardsmith.loop.repairing import repair
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState, start_state
from rewardsmith.stages.gates import GATE_KEYS, needed
from rewardsmith.stages.selection import Score


def search(session: Session) -> tuple[SearchState | None, str]:
    """Run iterations until the target, a budget, patience or the count ends them.

    Returns:
        What the search knows (None where not even the first episodes fit a budget) and why it ended.

    Raises:
        TrainerError: a trainer failed for a reason that is not a candidate's.
        SandboxUnavailableError: the box failed.
        StorageError: the disk is full.
    """
    state: SearchState | None = None
    try:
        state = start_state(session)
        given = session.config.reward is not None
        reason = take_given(session, state) if given else _reason_to_stop(session, state)
        while reason is None:
            state.iteration += 1
            session.check_wall_clock(f"i{state.iteration:02d}/start")
            chosen = _iterate(session, state)
            reason = _reason_to_stop(session, state)
            if reason is None:
                reflect(session, state, chosen)
    except BudgetExhausted as verdict:
        reason = f"budget: {verdict}"
        if state is not None:
            _take_best(session, state)
    session.journal.decide("stop", {"reason": reason, "best": state and state.best})
    return state, reason


def _iterate(session: Session, state: SearchState) -> list[Candidate]:
    """Run one iteration and return the candidates that were to be trained."""
    say = session.reporter.line
    say(f"Iteration {state.iteration} of {session.config.method.stop.iterations}")
    new = propose(session, state)
    say(f"  {session.coder.name} proposed {len(new)} reward functions")
    screen_candidates(session, state, new)
    repair(session, state, new)
    n_failed = sum(c.failure is not None for c in new)
    chosen = prefer(session, state)
    ranked = [c.preference for c in new if c.preference is not None]
    best = f", best preference accuracy {max(ranked):.3f}" if ranked else ""
    n_constant = sum(c.is_constant for c in new)
    constant = f" ({n_constant} constant)" if n_constant else ""
    say(f"  {len(new) - n_failed} valid{constant}, {n_failed} turned down{best}; training {len(chosen)}")
    why = _why_so_few(session, state, chosen)
    if why:
        say(f"  {why}")
    train_candidates(session, state, chosen)
    confirm(session, state)
    _select(session, state)
    diagnose(session, state, chosen)
    forget_losers(session, state)
    return chosen


def _why_so_few(session: Session, state: SearchState, chosen: list[Candidate]) -> str:
    """Return why fewer are trained than the method would train, or nothing."""
    method = session.config.method
    if method.train.keep is not None and len(chosen) >= method.train.keep:
        return ""
    race = [
        c for c in state.candidates.values() if c.is_in_race and c not in chosen and c.returns is not None
    ]
    least = needed(method.gate)
    below = [c for c in race if c.preference is not None and c.preference < least]
    reasons = [
        f"{len(below)} below {least:g}, as gate.{GATE_KEYS[method.gate.rule]} has it" if below else "",
        f"{len(race) - len(below)} too much like one that is trained" if len(race) > len(below) else "",
    ]
    told = ", ".join(reason for reason in reasons if reason)
    return f"not trained: {told}" if told else ""


def _select(session: Session, state: SearchState) -> None:
    """Keep the best candidate of the whole run."""
    before = state.best
    _take_best(session, state)
    state.stale_iterations = 0 if state.best != before else state.stale_iterations + 1
    payload: dict[str, object] = {"best": state.best}
    if state.best is not None:
        best = state.candidates[state.best]
        payload |= best.judged(session.config.method.select)
        fitness, progress = best.score(session.config.method.select)
        session.reporter.line(f"  best so far: {state.best}, fitness {fitness:.2f}, progress {progress:.2f}")
    session.journal.decide(f"i{state.iteration:02d}/select", payload)


def _take_best(session: Session, state: SearchState) -> None:
    """Let the best candidate be the incumbent, which stays unless it is beaten.

    A confirmed score stands above any that is not, since only the latter may come from one lucky training;
    but not where it confirms that the candidate is no better than a random policy.
    """
    select = session.config.method.select
    able = [c for c in state.trained if c.failure is None]

    def rank(candidate: Candidate) -> tuple[bool, Score, bool]:
        result = candidate.score(select)
        is_proven = bool(candidate.confirmed) and result[0] > state.random_fitness
        return is_proven, result, candidate.id == state.best

    state.best = max(able, key=rank).id if able else None


def _reason_to_stop(session: Session, state: SearchState) -> str | None:
    stop, target = session.config.method.stop, session.task.file.target_fitness
    if state.best is not None and stop.at_target and target is not None:
        fitness, _ = state.candidates[state.best].score(session.config.method.select)
        if fitness >= target:
            return f"target: {state.best} reached fitness {fitness:.3g} of {target:.3g}"
    if stop.patience is not None and state.stale_iterations >= stop.patience:
        return f"patience: no better candidate for {state.stale_iterations} iterations"
    if state.iteration >= stop.iterations:
        return f"count: {state.iteration} iterations"
    return None
