"""Chooses the winner: the best candidates of the search are trained once more, with a fresh seed, at full budget.

A search tries many candidates on few episodes and short trainings; the best of many is partly lucky, and what
learns fast need not end well.
"""

from rewardsmith.errors import BudgetExhausted
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.full_budget import full_plan, run_plans
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import SearchState
from rewardsmith.seeds import derive_seed, episode_seeds
from rewardsmith.stages.selection import Score, score, summary

LABEL = "confirm"


def choose_winner(session: Session, state: SearchState) -> Candidate | None:
    """Return the winner of the search, or None where nothing was trained.

    Raises:
        TrainerError: a trainer failed for a reason that is not a candidate's.
    """
    finalists = _finalists(session, state)
    if len(finalists) <= 1:
        return finalists[0] if finalists else None
    seed = session.config.seed
    judge_seeds = episode_seeds(seed, LABEL, session.task.file.judge.final_episodes, "judge")
    plans = [
        full_plan(
            session,
            f"{LABEL}/{candidate.id}",
            source=candidate.source,
            baseline=None,
            seed=derive_seed(seed, LABEL, "train"),
            judge_seeds=judge_seeds,
        )
        for candidate in finalists
    ]
    session.reporter.line(f"Training the best {len(finalists)} once more at full budget")
    try:
        answers = run_plans(session, state, plans, LABEL)
    except BudgetExhausted as verdict:
        session.reporter.line(f"  left out: {verdict}")
        return finalists[0]
    scores: dict[str, Score] = {}
    judged = {}
    for candidate, plan in zip(finalists, plans, strict=True):
        answer = answers[plan.key]
        if answer["failure"] is None:
            scores[candidate.id] = score(answer["checkpoints"][-1])
            judged[candidate.id] = summary(answer["checkpoints"][-1])
    winner = max(finalists, key=lambda c: scores.get(c.id, (float("-inf"), 0.0)))
    session.journal.decide(LABEL, {"judged": judged, "winner": winner.id})
    for name, (fitness, progress) in scores.items():
        chosen = "  winner" if name == winner.id else ""
        session.reporter.line(f"  {name}  fitness {fitness:.2f}  progress {progress:.2f}{chosen}")
    return winner


def _finalists(session: Session, state: SearchState) -> list[Candidate]:
    """Return the best candidates of the whole search, the incumbent first."""
    select = session.config.method.select
    able = [c for c in state.trained if c.failure is None]
    # The incumbent stays ahead of those that only drew level with it.
    able.sort(key=lambda c: (c.score(select), c.id == state.best), reverse=True)
    return able[: select.finalists]
