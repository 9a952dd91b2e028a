"""What a run would do and say first, found out without a model call and without leaving anything behind."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardsmith.config import RunConfig, TrainConfig
from rewardsmith.loop.proposing import proposal_request
from rewardsmith.loop.reporter import Reporter
from rewardsmith.loop.session import Session, open_session
from rewardsmith.loop.state import SearchState, start_state
from rewardsmith.services.chat.base import ChatRequest
from rewardsmith.services.journal.folder import RunFolder
from rewardsmith.services.models.llm.coder import LanguageModelCoder
from rewardsmith.stages.selection import n_kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A run before it is begun.

    Attributes:
        plan: what it would do at most, by name.
        request: the first question to the coder's model; None for a coder that asks no model.
    """

    plan: dict[str, Any]
    request: ChatRequest | None


def preview(config: RunConfig, reporter: Reporter) -> Preview:
    """Play the random episodes that a run starts from, and render the first prompt from them.

    Raises:
        RewardsmithError: whatever would keep the run from starting, but for a missing key.
    """
    with tempfile.TemporaryDirectory(prefix="rewardsmith-") as root:
        folder = RunFolder.create(Path(root), "dry", config.model_dump(mode="json"))
        with open_session(folder, reporter, dry=True) as session:
            state = start_state(session)
            state.iteration = 1
            request = proposal_request(session, state)
            coder = session.coder
            question = None
            if isinstance(coder, LanguageModelCoder) and config.method.stop.iterations > 0:
                question = coder.question(request)
            return Preview(plan=_plan(session, state, request.n), request=question)


def _plan(session: Session, state: SearchState, n_proposals: int) -> dict[str, Any]:
    config, method, task = session.config, session.config.method, session.task.file
    total = task.training.total_timesteps
    n_iterations, reads = method.stop.iterations, session.coder.reads_feedback
    baselines = len(task.baselines) if method.final.baselines else 0
    n_search = n_iterations * (method.train.keep or n_proposals)
    n_full = n_iterations * method.select.finalists * method.select.confirm_seeds
    n_final = method.final.seeds * (min(1, n_iterations) + baselines)
    each_steps, each_checkpoints = _halving(method.train, method.train.keep or n_proposals)
    n_checkpoints = n_iterations * each_checkpoints
    judged = task.judge.episodes * (n_checkpoints + n_full) + task.judge.final_episodes * n_final
    steps = round(n_iterations * each_steps * total) + (n_full + n_final) * total
    wants_critique = config.evaluator is not None and method.feedback.critique
    n_reflections = max(0, n_iterations - 1) if wants_critique else 0
    return {
        "task": session.task.name,
        "goal": task.goal,
        "model": config.model.name,
        "evaluator": config.evaluator and config.evaluator.name,
        "method": config.method_name,
        "seed": config.seed,
        "iterations": n_iterations,
        "proposals_per_iteration": n_proposals,
        "coder_calls": n_iterations * n_proposals if reads else 0,
        "repair_calls": n_iterations * n_proposals * method.repair.attempts if reads else 0,
        "evaluator_calls": n_reflections + (1 if n_reflections else 0),
        "trainings": n_search + n_full + n_final,
        "training_steps": steps,
        "judging_steps": judged * state.horizon,
        "store_steps": sum(map(len, state.store.trajectories)),
        "budget": config.budget.model_dump(),
    }


def _halving(train: TrainConfig, n_trained: int) -> tuple[float, int]:
    """Return what an iteration's trainings take: in budgets of the task, and in judged checkpoints."""
    share, before, n_checkpoints = 0.0, 0.0, 0
    for rung in train.rungs:
        share += n_trained * (rung - before) * train.budget
        n_checkpoints += n_trained * train.checkpoints_per_rung
        before, n_trained = rung, n_kept(n_trained, train.survivors)
    return share, n_checkpoints
