"""What a coder is told of a candidate: deterministic evidence, in the three kinds of CARD (Sun et al., 2025).

Process feedback is how training went, trajectory feedback what the policy does, preference feedback how the
reward orders stored episodes. All of it is plain data, ready for JSON and for a prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardsmith.config import FeedbackConfig, GateConfig
from rewardsmith.contract.layout import StateLayout
from rewardsmith.services.sandbox.base import RewardProcess
from rewardsmith.stages.diagnostics import component_remarks, goodhart_step, rank_correlation, shares
from rewardsmith.stages.gates import in_words
from rewardsmith.stages.preference import PreferencePairs, preference_accuracy, preference_pairs
from rewardsmith.stages.selection import mean, summary
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import FloatArray, RewardAnswer, Trajectory

N_SAMPLED = 6
"""Steps of a rollout that are shown."""
_CONSTANT = 1e-12
_TIE = 1e-9
"""Of the largest return: what differs by less counts as equal, as it does for the accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """Episodes with what a candidate pays for them.

    Attributes:
        store: the episodes.
        answer: reward and components of every transition.
    """

    store: TrajectoryStore
    answer: RewardAnswer

    @property
    def returns(self) -> FloatArray:
        """Return of each episode."""
        return self.store.returns(self.answer.reward)

    def component_returns(self, index: int) -> dict[str, float]:
        """Sums of each component over one episode."""
        rows = self.rows(index)
        return {name: float(values[rows].sum()) for name, values in self.answer.components.items()}

    def rows(self, index: int) -> slice:
        """Where an episode's transitions stand."""
        start = int(self.store.starts[index])
        return slice(start, start + len(self.store.trajectories[index]))


def rescore(process: RewardProcess, store: TrajectoryStore) -> Rescored:
    """Ask the box what it pays for every transition of a store; raises as the box does."""
    return Rescored(store=store, answer=process.call(store.transitions))


def process_feedback(
    checkpoints: Sequence[Mapping[str, Any]], own: Rescored | None, far: RewardAnswer | None = None
) -> dict[str, Any]:
    """Return how training went.

    Args:
        checkpoints: judged policies as the journal holds them.
        own: rollouts of the last policy, or None.
        far: what the candidate answers to them with their states stretched, or None.
    """
    rows = [
        {
            "step": c["step"],
            "return": mean(c["return"] or ()),
            **{name: summary(c)[name] for name in ("fitness", "progress", "success", "length")},
        }
        for c in checkpoints
    ]
    windows = [window for c in checkpoints for window in c["statistics"] if window.get("components")]
    brought = shares(own.answer) if own is not None else {}
    remarks = component_remarks(own.answer, far) if own is not None else {}
    return {
        "episodes": len(checkpoints[0]["fitness"]) if checkpoints else 0,
        "checkpoints": rows,
        "components": [
            _component(name, windows, brought.get(name), remarks.get(name, [])) for name in _names(windows)
        ],
        "rank_correlation": rank_correlation(checkpoints),
        "goodhart_step": goodhart_step(checkpoints),
        "reward_std": None if own is None else float(own.answer.reward.std()),
    }


def rollout_feedback(own: Rescored, layout: StateLayout) -> list[dict[str, Any]]:
    """Return the rollouts of highest and lowest return, with states and components at some of their steps."""
    best, worst = extremes(own)
    rollouts = [_rollout("Highest return", own, best, layout)]
    if worst != best:
        rollouts.append(_rollout("Lowest return", own, worst, layout))
    return rollouts


def extremes(own: Rescored) -> tuple[int, int]:
    """Return which episodes have the highest and the lowest return."""
    returns = own.returns
    return int(np.argmax(returns)), int(np.argmin(returns))


def preference_feedback(stored: Rescored, gate: GateConfig) -> dict[str, Any] | None:
    """Return how the candidate orders stored episodes; None where no two of them differ."""
    pairs = preference_pairs(stored.store.fitness, stored.store.progress, gate.min_gap)
    accuracy = preference_accuracy(stored.returns[None, :], pairs)
    if accuracy is None:
        return None
    return {
        "accuracy": float(accuracy[0]),
        "rule": in_words(gate),
        "pairs": len(pairs),
        "trajectories": len(stored.store.trajectories),
        "worst": _worst_pair(stored, pairs),
        "edge": _edge(stored),
    }


def evidence(
    *,
    feedback: FeedbackConfig,
    process: dict[str, Any] | None,
    rollouts: list[dict[str, Any]],
    preference: dict[str, Any] | None,
    failure: str | None = None,
) -> dict[str, Any]:
    """Return the parts of the evidence that the method asks for.

    Args:
        feedback: which parts are wanted.
        process: how training went, or None.
        rollouts: what the policy does.
        preference: how the candidate orders stored episodes, or None.
        failure: why the candidate could not be asked about them, or None.
    """
    return {
        "process": process if feedback.process else None,
        "rollouts": rollouts if feedback.trajectory else [],
        "preference": preference if feedback.preference else None,
        "failure": failure,
    }


def _names(windows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for window in windows for name in window["components"]))


def _component(
    name: str, windows: Sequence[Mapping[str, Any]], share: float | None, remarks: Sequence[str]
) -> dict[str, Any]:
    rows = [window["components"][name] for window in windows if name in window["components"]]
    low, high = min(row["min"] for row in rows), max(row["max"] for row in rows)
    return {
        "name": name,
        "means": [row["mean"] for row in rows],
        "stds": [row["std"] for row in rows],
        "min": low,
        "max": high,
        "share": share,
        "remark": "never changes" if high - low <= _CONSTANT else "; ".join(remarks),
    }


def sampled_states(episode: Trajectory, layout: StateLayout, n: int = N_SAMPLED) -> list[dict[str, Any]]:
    """Return up to `n` states of an episode, evenly chosen up to its last: `step`, and `state` as text."""
    steps = np.unique(np.linspace(1, len(episode), min(n, len(episode))).astype(int))
    return [{"step": int(step), "state": _state(episode.state[step], layout)} for step in steps]


def _rollout(title: str, own: Rescored, index: int, layout: StateLayout) -> dict[str, Any]:
    episode, rows = own.store.trajectories[index], own.rows(index)
    return {
        "title": title,
        "return": float(own.returns[index]),
        "measured": _measured(episode),
        "length": len(episode),
        "rows": [
            {
                **sampled,
                "components": ", ".join(
                    f"{name} {values[rows][sampled['step'] - 1]:.3g}"
                    for name, values in own.answer.components.items()
                ),
            }
            for sampled in sampled_states(episode, layout)
        ],
    }


def _worst_pair(stored: Rescored, pairs: PreferencePairs) -> list[dict[str, Any]]:
    """Return the wrongly ordered pair of the largest difference in return, the better episode first."""
    returns = stored.returns
    gap = returns[pairs.worse] - returns[pairs.better]
    at = int(np.argmax(gap))
    # Sums in another order differ in their last bits; that is no wrong order.
    if gap[at] <= _TIE * np.abs(returns).max():
        return []
    return [_member("better", stored, int(pairs.better[at])), _member("worse", stored, int(pairs.worse[at]))]


def _edge(stored: Rescored) -> list[dict[str, Any]]:
    """Return the success of the lowest and the failure of the highest return, where the store has both.

    CARD shows them side by side: the success ought to stand above.
    """
    told = [(i, t.success) for i, t in enumerate(stored.store.trajectories) if t.success is not None]
    successes, failures = ([i for i, success in told if success is wanted] for wanted in (True, False))
    if not successes or not failures:
        return []
    returns = stored.returns
    lowest = min(successes, key=lambda i: returns[i])
    highest = max(failures, key=lambda i: returns[i])
    return [_member("worst success", stored, lowest), _member("best failure", stored, highest)]


def _member(which: str, stored: Rescored, index: int) -> dict[str, Any]:
    sums = stored.component_returns(index)
    return {
        "which": which,
        "measured": _measured(stored.store.trajectories[index]),
        "length": len(stored.store.trajectories[index]),
        "return": float(stored.returns[index]),
        "components": ", ".join(f"{name} {value:.3g}" for name, value in sums.items()),
    }


def _measured(episode: Trajectory) -> str:
    parts = [f"fitness {episode.fitness:.3g}"]
    if episode.progress is not None:
        parts.append(f"progress {episode.progress:.3g}")
    if episode.success is not None:
        parts.append("a success" if episode.success else "no success")
    return ", ".join(parts)


def _state(state: FloatArray, layout: StateLayout) -> str:
    values = layout.view(state[None, :])
    return ", ".join(f"{name} {_rounded(value[0])}" for name, value in values.items())


def _rounded(value: Any) -> str:
    numbers = [f"{x:.3g}" for x in np.ravel(value)]
    return numbers[0] if np.ndim(value) == 0 else f"[{', '.join(numbers)}]"
