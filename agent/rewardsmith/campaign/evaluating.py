"""How good a judge a model is: its choice between two episodes whose order is known, asked both ways."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rewardsmith.loop.records import RESULT_FILE
from rewardsmith.loop.reporter import Reporter
from rewardsmith.loop.session import Session, open_session
from rewardsmith.loop.state import SearchState, start_state
from rewardsmith.services.chat.calls import ModelAnswer, ModelCall
from rewardsmith.services.chat.structured import parse_as
from rewardsmith.services.journal.folder import RunFolder, write_json_atomic
from rewardsmith.stages.evaluator import Choice, Evaluator
from rewardsmith.stages.preference import preference_pairs
from rewardsmith.stages.store import TrajectoryStore

MIN_GAP = 0.05
"""Pairs of equal fitness whose progress differs by less are not asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """What a model said of one pair.

    Attributes:
        better: index of the better episode in the store.
        worse: index of the other.
        is_fitness: whether their fitness differs, and not their progress alone.
        gap: by how much they differ, in fitness or else in progress.
        right: whether it chose the better one where that stood first, and where it stood second; None where
            there was no usable answer.
    """

    better: int
    worse: int
    is_fitness: bool
    gap: float
    right: tuple[bool | None, bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorReport:
    """A model as a judge, on one task.

    Attributes:
        task: its name.
        model: the model's.
        pairs: how many were asked about, each twice.
        unanswered: answers that could not be used.
        accuracy: share of the answers that are right, or None without one.
        accuracy_by_fitness: the same over pairs whose fitness differs.
        accuracy_by_progress: the same over those that differ in progress alone.
        consistency: share of pairs of which it chose the same episode both times; None without one.
        first_share: share of the answers that chose the episode that stood first; 0.5 is without bias.
        tokens: of all calls.
        usd: their cost; None where it is not known.
    """

    task: str
    model: str
    pairs: int
    unanswered: int
    accuracy: float | None
    accuracy_by_fitness: float | None
    accuracy_by_progress: float | None
    consistency: float | None
    first_share: float | None
    tokens: int
    usd: float | None


def execute_choices(
    folder: RunFolder, reporter: Reporter, *, n_pairs: int, with_rubric: bool
) -> dict[str, Any]:
    """Ask about pairs, or go on with it, and return report and verdicts, which are also written there.

    Args:
        folder: of a run with an evaluator; its search is not begun.
        reporter: shows progress.
        n_pairs: most pairs.
        with_rubric: whether the model first writes a rubric for the task, and then sees it.

    Raises:
        RewardsmithError: what stopped it; the same call goes on.
    """
    with open_session(folder, reporter) as session:
        state = start_state(session)
        pairs = choose_pairs(state.store, n_pairs)
        answers = _ask(session, state, pairs, with_rubric)
        verdicts = [_verdict(state.store, pair, answers[2 * i : 2 * i + 2]) for i, pair in enumerate(pairs)]
        used = session.ledger.used
        assert session.config.evaluator is not None
        report = report_of(
            verdicts,
            task=session.task.name,
            model=session.config.evaluator.name,
            tokens=used.tokens,
            usd=None if used.usd_unknown_calls else used.usd,
        )
        result = {"report": asdict(report), "verdicts": [asdict(verdict) for verdict in verdicts]}
        session.journal.decide("result", result)
        write_json_atomic(folder.path / RESULT_FILE, result)
    return result


def choose_pairs(store: TrajectoryStore, n_pairs: int) -> list[tuple[int, int]]:
    """Return (better, worse) pairs, evenly chosen from the hardest to tell apart to the easiest."""
    pairs = preference_pairs(store.fitness, store.progress, MIN_GAP)
    both = list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))
    both.sort(key=lambda pair: _gap(store, *pair))
    if len(both) <= n_pairs:
        return both
    return [both[i] for i in np.linspace(0, len(both) - 1, n_pairs).astype(int)]


def report_of(
    verdicts: Sequence[PairVerdict], *, task: str, model: str, tokens: int, usd: float | None
) -> EvaluatorReport:
    """Return the shares that verdicts come to."""
    told = [right for verdict in verdicts for right in verdict.right if right is not None]
    whole = [verdict.right for verdict in verdicts if None not in verdict.right]
    # Right where the better one stood first, or wrong where it stood second: it chose the first.
    chose_first = [
        right is first
        for verdict in verdicts
        for right, first in zip(verdict.right, (True, False), strict=True)
        if right is not None
    ]
    return EvaluatorReport(
        task=task,
        model=model,
        pairs=len(verdicts),
        unanswered=2 * len(verdicts) - len(told),
        accuracy=_share(told),
        accuracy_by_fitness=_share(_told(verdicts, is_fitness=True)),
        accuracy_by_progress=_share(_told(verdicts, is_fitness=False)),
        consistency=_share([a == b for a, b in whole]),
        first_share=_share(chose_first),
        tokens=tokens,
        usd=usd,
    )


def _ask(
    session: Session, state: SearchState, pairs: Sequence[tuple[int, int]], with_rubric: bool
) -> list[ModelAnswer]:
    config = session.config.evaluator
    assert config is not None
    evaluator = Evaluator(ask=session.ask, max_tokens=config.max_tokens)
    rubric: Mapping[str, Any] | None = None
    if with_rubric:
        rubric, reason = evaluator.rubric(state.opening_brief)
        if rubric is None:
            session.reporter.line(f"no rubric: {reason}")
    episodes = state.store.trajectories
    calls: list[ModelCall] = []
    for number, (better, worse) in enumerate(pairs):
        for order, (first, second) in enumerate(((better, worse), (worse, better))):
            key = f"pair{number:03d}/choice{order}"
            calls.append(
                evaluator.choice(key, state.opening_brief, episodes[first], episodes[second], rubric)
            )
    return session.ask(calls) if calls else []


def _verdict(store: TrajectoryStore, pair: tuple[int, int], answers: Sequence[ModelAnswer]) -> PairVerdict:
    chosen = [_choice(answer) for answer in (*answers, *[None] * (2 - len(answers)))]
    right = tuple(
        None if choice is None else choice == wanted
        for choice, wanted in zip(chosen, ("first", "second"), strict=True)
    )
    better, worse = pair
    return PairVerdict(
        better=better,
        worse=worse,
        is_fitness=bool(store.fitness[better] != store.fitness[worse]),
        gap=_gap(store, *pair)[1],
        right=(right[0], right[1]),
    )


def _choice(answer: ModelAnswer | None) -> str | None:
    if answer is None or answer.reply is None:
        return None
    try:
        return parse_as(Choice, answer.reply).better
    except ValueError:
        return None


def _gap(store: TrajectoryStore, better: int, worse: int) -> tuple[bool, float]:
    by_fitness = float(store.fitness[better] - store.fitness[worse])
    if by_fitness or store.progress is None:
        return True, by_fitness
    return False, float(store.progress[better] - store.progress[worse])


def _told(verdicts: Sequence[PairVerdict], *, is_fitness: bool) -> list[bool]:
    chosen = [verdict for verdict in verdicts if verdict.is_fitness == is_fitness]
    return [right for verdict in chosen for right in verdict.right if right is not None]


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
