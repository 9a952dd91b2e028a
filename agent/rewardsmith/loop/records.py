"""Read-only views of run folders, for those who list, show and export; nothing here writes or locks."""

import fcntl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from rewardsmith.config import RunConfig
from rewardsmith.errors import FailureCode, NoWinnerError, RunFolderError
from rewardsmith.loop.candidates import candidate_id
from rewardsmith.services.journal.events import Event, read_events
from rewardsmith.services.journal.folder import LOCK_FILE, RunFolder
from rewardsmith.services.journal.journal import STOPPED
from rewardsmith.services.models.base import Proposal
from rewardsmith.stages.selection import summary

RESULT_FILE = "result.json"
REWARD_FILE = "reward.py"

Status = Literal["running", "finished", "interrupted"]

Judged = Mapping[str, float | None]
"""Means of a judged policy's episodes (`fitness`, `progress`, ...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRecord:
    """A candidate that was chosen for training.

    Attributes:
        id: `i03c02`.
        preference: share of trajectory pairs that it ordered rightly, or None where undetermined.
        checkpoints: one for each judged policy: its `step` and the means of its episodes.
        rungs_done: rungs that it has finished.
        is_stopped: whether it was left behind after the last of them.
        confirmed: means of its full trainings with fresh seeds, or None where it was not confirmed.
        failure: why it was turned down in training, or None.
        rank_correlation: of return and fitness over its judged episodes, or None.
        goodhart_step: the step after which its return rose and fitness fell, or None.
    """

    id: str
    preference: float | None
    checkpoints: tuple[Judged, ...] = ()
    rungs_done: int = 0
    is_stopped: bool = False
    confirmed: Judged | None = None
    failure: str | None = None
    rank_correlation: float | None = None
    goodhart_step: int | None = None

    def end(self, n_rungs: int) -> str:
        """Return in a few words how far its training got, of `n_rungs` rungs."""
        if self.failure is not None:
            return f"failed, {self.failure}"
        if self.confirmed is not None:
            return "confirmed at full budget"
        if self.rungs_done == n_rungs:
            return "trained to the end"
        if self.rungs_done == 0:
            return "not trained yet"
        if self.is_stopped:
            return f"stopped after rung {self.rungs_done} of {n_rungs}"
        return f"kept after rung {self.rungs_done} of {n_rungs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRecord:
    """What an iteration did, as far as it got.

    Attributes:
        number: counted from 1.
        proposals_ref: the object that holds its proposals, or None where they are not recorded yet.
        repair_refs: the objects that hold mended proposals by candidate, later ones replacing earlier ones.
        n_proposed: proposals, or None before they were screened.
        failures: how many proposals were turned down before training, by reason.
        n_trajectories: trajectories on which proposals were ranked.
        n_pairs: pairs of them that differ.
        undetermined: whether no pair differed, so that nothing could be ranked.
        trained: the candidates that were chosen, best-ranked first.
        best: the best of the whole run after this iteration, with `id` and its means; None before.
        epic: the EPIC distances between what was trained and the best: `ids`, and `distances` as rows; None
            before.
    """

    number: int
    proposals_ref: str | None = None
    repair_refs: tuple[str, ...] = ()
    n_proposed: int | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    n_trajectories: int = 0
    n_pairs: int = 0
    undetermined: bool = False
    trained: tuple[TrainedRecord, ...] = ()
    best: Mapping[str, Any] | None = None
    epic: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run as its folder tells it.

    Attributes:
        folder: the run folder.
        config: the whole configuration.
        status: whether a process works on it, it is done, or neither.
        started: when its journal was begun, in Unix seconds; None before.
        iterations: those that were begun.
        best: the best after the last whole iteration, with `id` and its means, or None.
        env_steps: environment steps of all recorded effects.
        trainings: recorded trainings.
        winner_id: the winner, of a run that goes on the best so far, or None.
        result: what the run ended with, or None.
        stopped: the error that its last process ended with; None where it goes on, is done, or was killed.
    """

    folder: RunFolder
    config: RunConfig
    status: Status
    started: float | None
    iterations: tuple[IterationRecord, ...]
    best: Mapping[str, Any] | None
    env_steps: int
    trainings: int
    winner_id: str | None
    result: dict[str, Any] | None
    stopped: str | None = None

    @property
    def reward_path(self) -> Path | None:
        """The winner's reward file in the run folder, or None where it has not been written."""
        path = self.folder.path / REWARD_FILE
        return path if path.is_file() else None


def read_run(path: Path) -> RunRecord:
    """Return what the run in `path` has recorded; another process may be writing it.

    Raises:
        RunFolderError: it is not a run folder, is damaged, or was written by a newer version.
    """
    folder = RunFolder.open(path)
    try:
        config = RunConfig.model_validate(folder.config)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, fault["loc"]))
        raise RunFolderError(f"{path / 'run.yaml'} is damaged: {key}: {fault['msg']}") from error
    events = list(read_events(folder.journal_path)) if folder.journal_path.exists() else []
    answers = {event.key: event.data for event in events if event.type == "answer"}
    decisions = {event.key: event.data for event in events if event.type == "decision"}
    iterations = tuple(_iterations(events, answers, decisions))
    best = next((i.best for i in reversed(iterations) if i.best is not None), None)
    # A budget may end a search within an iteration: what it took then stands in its last decision.
    chosen = decisions["stop"]["best"] if "stop" in decisions else (best or {}).get("id")
    result = decisions.get("result")
    return RunRecord(
        folder=folder,
        config=config,
        status=_status(path, result),
        started=events[0].time if events else None,
        iterations=iterations,
        best=best,
        env_steps=sum(int(answer.get("env_steps", 0)) for answer in answers.values()),
        trainings=sum(_begins_training(key, answer) for key, answer in answers.items()),
        winner_id=chosen,
        result=result,
        stopped=_stopped(events),
    )


def has_begun(folder: RunFolder) -> bool:
    """Return whether a run has recorded anything that is worth going on from."""
    path = folder.journal_path
    return path.exists() and any(event.type == "answer" for event in read_events(path))


def read_proposals(record: RunRecord) -> dict[str, Proposal]:
    """Return every recorded proposal of a run by its candidate's id.

    Raises:
        RunFolderError: an object is missing or damaged.
    """
    proposals: dict[str, Proposal] = {}
    objects, given = record.folder.objects, record.folder.config.get("reward")
    if given is not None:
        proposals[candidate_id(0, 0)] = Proposal(source=given, origin=record.folder.config["reward_origin"])
    for iteration in record.iterations:
        if iteration.proposals_ref is not None:
            for index, row in enumerate(objects.get_json(iteration.proposals_ref)):
                proposals[candidate_id(iteration.number, index)] = Proposal.from_json(row)
        for ref in iteration.repair_refs:
            mended = objects.get_json(ref)
            answers = {name: Proposal.from_json(row) for name, row in mended.items()}
            # A call that failed left what there was.
            proposals |= {n: p for n, p in answers.items() if p.failure != FailureCode.MODEL_ERROR}
    return proposals


def winner_of(record: RunRecord) -> tuple[str, Proposal]:
    """Return id and proposal of a run's winner; of a run that goes on, the best so far.

    Raises:
        NoWinnerError: no candidate has been selected.
        RunFolderError: an object is missing or damaged.
    """
    winner = record.winner_id
    if winner is None:
        raise NoWinnerError(
            f"run {record.folder.name} has no winner: no candidate has been trained and judged"
        )
    return winner, read_proposals(record)[winner]


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of the run in `path`."""
    try:
        with (path / LOCK_FILE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _status(path: Path, result: Mapping[str, Any] | None) -> Status:
    if is_locked(path):
        return "running"
    return "finished" if result is not None and (path / RESULT_FILE).is_file() else "interrupted"


def _stopped(events: list[Event]) -> str | None:
    last = events[-1] if events else None
    is_stop = last is not None and last.type == "decision" and last.key.startswith(STOPPED)
    return str(last.data["error"]) if last is not None and is_stop else None


def _iterations(
    events: list[Event], answers: Mapping[str, Any], decisions: Mapping[str, Any]
) -> Iterator[IterationRecord]:
    begun = {int(event.key[1:].split("/")[0]) for event in events if event.key.endswith("/propose")}
    for number in sorted(begun):
        prefix = f"i{number:02d}"
        prefer = decisions.get(f"{prefix}/prefer", {})
        select = decisions.get(f"{prefix}/select")
        yield IterationRecord(
            number=number,
            proposals_ref=answers.get(f"{prefix}/propose", {}).get("proposals"),
            repair_refs=tuple(_repairs(prefix, answers)),
            n_proposed=prefer.get("n_proposed"),
            failures=prefer.get("failures", {}),
            n_trajectories=prefer.get("n_trajectories", 0),
            n_pairs=prefer.get("n_pairs", 0),
            undetermined=prefer.get("undetermined", False),
            trained=tuple(_trained(row, prefix, answers, decisions) for row in prefer.get("chosen", ())),
            best=_best(select),
            epic=decisions.get(f"{prefix}/diagnose", {}).get("epic"),
        )


def _repairs(prefix: str, answers: Mapping[str, Any]) -> Iterator[str]:
    attempt = 1
    while (answer := answers.get(f"{prefix}/repair{attempt}")) is not None:
        yield answer["proposals"]
        attempt += 1


def _best(select: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if select is None or select["best"] is None:
        return None
    return {"id": select["best"], **{key: value for key, value in select.items() if key != "best"}}


def _trained(
    row: Mapping[str, Any], trained_in: str, answers: Mapping[str, Any], decisions: Mapping[str, Any]
) -> TrainedRecord:
    """Return what became of a candidate that was chosen in iteration `trained_in`, maybe not its own."""
    iteration, index = row["id"].split("c")
    checkpoints: list[Judged] = []
    failure, is_stopped, rung = None, False, 1
    while (answer := answers.get(f"{iteration}/c{index}/train/r{rung}")) is not None:
        checkpoints += [{"step": c["step"], **summary(c)} for c in answer["checkpoints"]]
        failure = failure or _failure(answer)
        cut = decisions.get(f"{trained_in}/rung{rung}")
        is_stopped = cut is not None and row["id"] not in cut["kept"]
        rung += 1
    diagnosed = decisions.get(f"{trained_in}/diagnose", {}).get("candidates", {}).get(row["id"], {})
    again = 0
    while (answer := answers.get(f"{iteration}/c{index}/confirm/s{again}")) is not None:
        failure = failure or _failure(answer)
        again += 1
    return TrainedRecord(
        id=row["id"],
        preference=row["preference"],
        checkpoints=tuple(checkpoints),
        rungs_done=rung - 1,
        is_stopped=is_stopped,
        failure=failure,
        rank_correlation=diagnosed.get("rank_correlation"),
        goodhart_step=diagnosed.get("goodhart_step"),
        confirmed=next((judged[row["id"]] for judged in _confirmed(decisions) if row["id"] in judged), None),
    )


def _confirmed(decisions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what was confirmed in each iteration: a candidate may be in a later one than its training."""
    return (payload["judged"] for key, payload in decisions.items() if key.endswith("/confirm"))


def _failure(answer: Mapping[str, Any]) -> str | None:
    failure = answer["failure"]
    return None if failure is None else f"{failure['code']}: {failure['message']}"


def _begins_training(key: str, answer: Mapping[str, Any]) -> bool:
    goes_on = "/train/r" in key and not key.endswith("/train/r1")
    return "checkpoints" in answer and not goes_on
