"""What a coder is asked and what it answers."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from rewardsmith.contract.layout import ActionSpec, StateLayout
from rewardsmith.errors import FailureCode


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBrief:
    """All that a coder may know of a task: never its fitness, success or own reward.

    Attributes:
        name: `suite/name`.
        goal: what the agent should do, in a sentence.
        layout: the state layout with units, bounds and kinds.
        action: the action.
        ranges: per field, the (low, high) that was seen in the store's trajectories, over all its values.
    """

    name: str
    goal: str
    layout: StateLayout
    action: ActionSpec
    ranges: dict[str, tuple[float, float]]


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
class ProposeRequest:
    """One call for proposals.

    Attributes:
        brief: the task.
        n: how many proposals are wanted.
        seed: all randomness of this call comes from it.
        iteration: counted from 1.
        history: every trained candidate so far and the best-ranked untrained ones, in order of their ids.
    """

    brief: TaskBrief
    n: int
    seed: int
    iteration: int
    history: tuple[CandidateRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposed reward function.

    Attributes:
        source: Python text that defines `compute_reward(state, action, next_state)`.
        origin: how it came to be, such as `fresh`, `mutation` or `crossover`.
        parents: ids of the candidates that it was made from.
        genome: JSON-ready data that the coder wants to see again in `CandidateRecord.genome`.
    """

    source: str
    origin: str
    parents: tuple[str, ...] = ()
    genome: dict[str, Any] | None = field(default=None)


class Coder(Protocol):
    """Writes reward code. The same request gives the same proposals, or the journal remembers the answer."""

    name: str
    preferred_candidates: int
    """Proposals an iteration that this coder is good for, where the method does not say."""

    def propose(self, request: ProposeRequest) -> list[Proposal]:
        """Return up to `request.n` proposals, in a fixed order."""
        ...
