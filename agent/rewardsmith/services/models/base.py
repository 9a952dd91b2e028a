"""What a coder is asked and what it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rewardsmith.contract.layout import ActionSpec, StateLayout
from rewardsmith.errors import FailureCode
from rewardsmith.services.chat.calls import Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBrief:
    """All that a coder may know of a task: never its fitness, success or own reward.

    Attributes:
        name: `suite/name`.
        goal: what the agent should do, in a sentence.
        layout: the state layout with units, bounds and kinds.
        action: the action.
        ranges: per field, the (low, high) that was seen in the store's trajectories, over all its values.
        axis_ranges: the same for each value of a field by itself, in its order.
        facts: how a reward is ranked and trained, in sentences.
        shaping: whether rewards are to be potentials, whose differences shape the task's sparse reward.
    """

    name: str
    goal: str
    layout: StateLayout
    action: ActionSpec
    ranges: dict[str, tuple[float, float]]
    axis_ranges: dict[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    facts: tuple[str, ...] = ()
    shaping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRecord:
    """What became of an earlier candidate, as a coder is told.

    Attributes:
        id: `i03c02`.
        source: its code.
        genome: what its coder attached to it, or None.
        failure: why it was turned down, or None.
        message: the text that goes with the failure.
        preference: share of trajectory pairs that it ordered rightly, in [0, 1]; None where not scored.
        fitness: mean fitness of the policy that was trained under it; None where it was not trained.
        progress: mean progress of that policy, or None.
        success_rate: share of its judged episodes that succeeded, or None.
    """

    id: str
    source: str
    genome: dict[str, Any] | None = None
    failure: FailureCode | None = None
    message: str = ""
    preference: float | None = None
    fitness: float | None = None
    progress: float | None = None
    success_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What an earlier iteration came to, for a coder that reads feedback.

    Attributes:
        candidate: its best candidate.
        evidence: what was measured, in the form of `stages.evidence`.
        critique: what the evaluator said of it, or None.
    """

    candidate: CandidateRecord
    evidence: Mapping[str, Any]
    critique: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureNote:
    """A way in which earlier proposals failed.

    Attributes:
        code: the typed reason.
        message: the latest text that went with it.
        count: how many failed so.
    """

    code: FailureCode
    message: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeRequest:
    """One call for proposals.

    Attributes:
        brief: the task.
        n: how many proposals are wanted.
        seed: all randomness of this call comes from it.
        iteration: counted from 1.
        history: every trained candidate so far and the best-ranked untrained ones, in order of their ids.
        turns: earlier iterations, the oldest first.
        best: the best candidate so far, or None.
        failures: how earlier proposals failed, the most frequent first.
    """

    brief: TaskBrief
    n: int
    seed: int
    iteration: int
    history: tuple[CandidateRecord, ...] = ()
    turns: tuple[Turn, ...] = ()
    best: CandidateRecord | None = None
    failures: tuple[FailureNote, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposed reward function.

    Attributes:
        source: Python text that defines `compute_reward(state, action, next_state)`.
        origin: how it came to be, such as `fresh`, `mutation` or `crossover`.
        parents: ids of the candidates that it was made from.
        genome: JSON-ready data that the coder wants to see again in `CandidateRecord.genome`.
        failure: why there is no usable code, or None.
        message: the text that goes with the failure.
        said: the beginning of the answer, where no code was found in it.
    """

    source: str
    origin: str
    parents: tuple[str, ...] = ()
    genome: dict[str, Any] | None = field(default=None)
    failure: FailureCode | None = None
    message: str = ""
    said: str = ""

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> "Proposal":
        """Rebuild what `dataclasses.asdict` and JSON made of a proposal."""
        failure = row.get("failure")
        parents = tuple(row["parents"])
        return Proposal(**{**row, "parents": parents, "failure": failure and FailureCode(failure)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A proposal that was turned down before training.

    Attributes:
        key: structural key of its candidate, such as `i03/c02`.
        proposal: what was proposed.
        failure: why it was turned down.
        message: the text that goes with the failure, with the line where it happened.
    """

    key: str
    proposal: Proposal
    failure: FailureCode
    message: str


class Coder(Protocol):
    """Writes reward code. The same request gives the same proposals, or the journal remembers the answer."""

    name: str
    preferred_candidates: int
    """Proposals an iteration that this coder is good for, where the method does not say."""
    reads_feedback: bool
    """Whether it wants evidence and critique, and mends what fails."""

    def propose(self, request: ProposeRequest, ask: Ask) -> list[Proposal]:
        """Return up to `request.n` proposals, in a fixed order; raises as `ask` does."""
        ...

    def repair(
        self, request: ProposeRequest, broken: Sequence[Broken], attempt: int, ask: Ask
    ) -> list[Proposal]:
        """Return a mended proposal for each broken one, or for the first of them; raises as `ask` does.

        Args:
            request: what they were proposed for.
            broken: what failed.
            attempt: counted from 1.
            ask: makes model calls.
        """
        ...
