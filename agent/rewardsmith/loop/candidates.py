"""Candidates of a run and what is known of them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardsmith.config import SelectConfig
from rewardsmith.errors import FailureCode
from rewardsmith.services.models.base import CandidateRecord, Proposal
from rewardsmith.stages.selection import Score, mean, score, standing_checkpoint, summary
from rewardsmith.types import FloatArray


def candidate_id(iteration: int, index: int) -> str:
    """Return the name of a candidate for people: `i03c02`."""
    return f"i{iteration:02d}c{index:02d}"


def structural_key(name: str) -> str:
    """Return the key under which a candidate's effects are recorded: `i03/c02`."""
    iteration, index = name.split("c")
    return f"{iteration}/c{index}"


@dataclass
class Candidate:
    """One proposed reward function and what became of it."""

    id: str
    proposal: Proposal
    failure: FailureCode | None = None
    message: str = ""
    is_constant: bool = False
    was_chosen: bool = False
    """Whether it was chosen for training, whatever came of it."""
    mended: list[tuple[FailureCode, str]] = field(default_factory=list)
    """Why earlier versions of its code were turned down."""
    preference: float | None = None
    returns: FloatArray | None = None
    reward: FloatArray | None = None
    checkpoints: list[Mapping[str, Any]] = field(default_factory=list)
    confirmed: list[Mapping[str, Any]] = field(default_factory=list)
    """Final checkpoints of trainings at full budget, one for each fresh seed."""
    rank_correlation: float | None = None
    """Of return and fitness over its judged episodes."""
    goodhart_step: int | None = None
    """The step after which its return rose and fitness fell."""

    @property
    def source(self) -> str:
        """Its code."""
        return self.proposal.source

    @property
    def key(self) -> str:
        """Its structural key."""
        return structural_key(self.id)

    @property
    def is_trained(self) -> bool:
        """Whether a policy was trained under it and judged."""
        return bool(self.checkpoints)

    @property
    def is_in_race(self) -> bool:
        """Whether it may still be trained."""
        return self.failure is None and not self.is_trained

    def forget_scores(self) -> None:
        """Drop what it scored on a store that has grown since."""
        self.returns = self.reward = None

    def replace_by(self, proposal: Proposal) -> None:
        """Let a mended proposal take the place of one that was turned down."""
        assert self.failure is not None
        self.mended.append((self.failure, self.message))
        self.proposal, self.failure, self.message = proposal, proposal.failure, proposal.message

    def fail(self, code: FailureCode, message: str) -> None:
        """Turn it down."""
        self.failure, self.message = code, message
        self.preference = None
        self.forget_scores()

    def score(self, select: SelectConfig) -> Score:
        """Return what it is ranked by, once it has been trained; a confirmed score replaces the first one."""
        if not self.confirmed:
            return score(standing_checkpoint(self.checkpoints, select))
        fitness, progress = zip(*map(score, self.confirmed), strict=True)
        return sum(fitness) / len(fitness), sum(progress) / len(progress)

    def judged(self, select: SelectConfig) -> dict[str, float | None]:
        """Return the means of its judged episodes, over the trainings that its score stands for."""
        if not self.confirmed:
            return summary(standing_checkpoint(self.checkpoints, select))
        rows = [summary(checkpoint) for checkpoint in self.confirmed]
        return {name: mean([row[name] for row in rows]) for name in rows[0]}

    def record(self, select: SelectConfig) -> CandidateRecord:
        """Return what its coder is told of it."""
        judged = self.judged(select) if self.checkpoints else {}
        return CandidateRecord(
            id=self.id,
            source=self.source,
            genome=self.proposal.genome,
            failure=self.failure,
            message=self.message,
            preference=self.preference,
            fitness=judged.get("fitness"),
            progress=judged.get("progress"),
            success_rate=judged.get("success"),
        )


def new_candidates(iteration: int, proposals: Sequence[Proposal]) -> list[Candidate]:
    """Return the candidates of an iteration; those that came without usable code have failed already."""
    return [
        Candidate(id=candidate_id(iteration, i), proposal=p, failure=p.failure, message=p.message)
        for i, p in enumerate(proposals)
    ]


def source_digest(source: str) -> str:
    """Return the sha256 of a candidate's code."""
    return hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()
