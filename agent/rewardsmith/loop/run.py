"""A run from its folder to its result; running it again goes on where it was."""

from dataclasses import asdict
from typing import Any

from rewardsmith.config import RunConfig
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.finals import Finals, compare
from rewardsmith.loop.records import RESULT_FILE, REWARD_FILE
from rewardsmith.loop.reporter import Reporter
from rewardsmith.loop.search import search
from rewardsmith.loop.session import Session, open_session, task_of
from rewardsmith.loop.state import SearchState
from rewardsmith.services.export import render_reward_file
from rewardsmith.services.journal.folder import RunFolder, write_json_atomic, write_text_atomic
from rewardsmith.services.journal.ledger import Usage

RunResult = dict[str, Any]


def execute(folder: RunFolder, reporter: Reporter) -> RunResult:
    """Run, or go on with, the run in `folder` and return its result, which is also written there.

    Raises:
        RewardsmithError: what stopped it; the run can be resumed unless the message says otherwise.
    """
    with open_session(folder, reporter) as session:
        state, reason = search(session)
        winner = state.candidates[state.best] if state is not None and state.best else None
        searched = session.ledger.used
        finals = None
        if winner is not None:
            write_text_atomic(folder.path / REWARD_FILE, reward_file(folder, winner))
        # Where nothing was searched, the baselines are what was asked for.
        is_turned_down = session.config.reward is not None and winner is None
        if state is not None and (winner is not None or state.iteration == 0) and not is_turned_down:
            finals = compare(session, state, winner)
        result = _result(session, state, reason, winner, finals, searched)
        session.journal.decide("result", result)
        write_json_atomic(folder.path / RESULT_FILE, result)
    return result


def reward_file(folder: RunFolder, winner: Candidate) -> str:
    """Return the text of a plain Python file with the candidate's reward."""
    config = RunConfig.model_validate(folder.config)
    return render_reward_file(
        task_of(config),
        winner.source,
        f"candidate {winner.id} of run {folder.name}, written by {config.model.name}"
        if config.reward is None
        else f"given as {config.reward_origin} to run {folder.name}",
        shaping=config.method.train.shaping == "potential",
    )


def _result(
    session: Session,
    state: SearchState | None,
    reason: str,
    winner: Candidate | None,
    finals: Finals | None,
    searched: Usage,
) -> RunResult:
    used = session.ledger.used
    return {
        "task": session.task.name,
        "model": session.config.model.name,
        "evaluator": session.config.evaluator and session.config.evaluator.name,
        "method": session.config.method_name,
        "seed": session.config.seed,
        "sandbox": session.sandbox.name,
        "reduced_isolation": session.had_weak_sandbox,
        "expert_episodes": session.config.method.store.expert_episodes,
        "ended": reason,
        "iterations": state.iteration if state else 0,
        "given": state and state.given,
        "winner": winner and _winner(session, winner),
        "final": finals and asdict(finals),
        "totals": {
            "proposals": len(state.candidates) if state else 0,
            "trainings": used.trainings,
            "env_steps": used.env_steps,
            "tokens": used.tokens,
            # Nothing is known to have cost nothing as long as the price of a call is not known.
            "usd": None if used.usd_unknown_calls and not used.usd else used.usd,
            "calls_of_unknown_cost": used.usd_unknown_calls,
        },
        # Without the final comparison.
        "search": {"trainings": searched.trainings, "env_steps": searched.env_steps},
    }


def _judged(session: Session, winner: Candidate) -> dict[str, float | None]:
    """Return what the search measured of the winner; a given one was not trained in it."""
    if winner.checkpoints:
        return winner.judged(session.config.method.select)
    return dict.fromkeys(("fitness", "progress", "success", "success_last"))


def _winner(session: Session, winner: Candidate) -> dict[str, Any]:
    return {
        "id": winner.id,
        "source": winner.source,
        "origin": winner.proposal.origin,
        "parents": list(winner.proposal.parents),
        "preference": winner.preference,
        "confirmed_seeds": len(winner.confirmed),
        **_judged(session, winner),
    }
