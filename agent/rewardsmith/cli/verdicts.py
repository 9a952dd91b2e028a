"""What the final comparison says, in plain words that promise no more than was measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

WINNER = "winner"

Outcome = Literal["beats", "ahead", "does not beat", "unknown"]

_NAMES = {
    "human": "the environment's own (human) reward",
    "sparse": "the sparse success reward",
    "zero": "a reward of zero",
    "progress": "the plain increments of progress",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The winner against one baseline, over fresh seeds.

    Attributes:
        baseline: its name.
        outcome: `beats` where the 95 % intervals do not overlap and no training failed, `ahead` where only
            the interquartile mean is higher, `does not beat` where it is not, `unknown` where an arm has no
            value.
        text: a sentence with the numbers.
    """

    baseline: str
    outcome: Outcome
    text: str


def verdicts(arms: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Return the winner's verdict against every baseline that was trained."""
    if WINNER not in arms:
        return []
    winner = arms[WINNER]["fitness_iqm"]
    return [
        _verdict(winner, name, arm["fitness_iqm"], arms[WINNER]["n_failed"] + arm["n_failed"])
        for name, arm in arms.items()
        if name != WINNER
    ]


def why_not_normalised(arms: Mapping[str, Mapping[str, Any]]) -> str:
    """Return why there is no human-normalised score."""
    for name in (WINNER, "human", "sparse"):
        if name not in arms or not arms[name]["fitness"]:
            return f"none, since there is no fitness of {name}"
        if arms[name]["n_failed"]:
            return f"none, since {arms[name]['n_failed']} trainings of {name} failed"
    return "none, since human does not exceed sparse by more than two standard errors"


def interval(measure: Mapping[str, Any] | None) -> str:
    """Return a 95 % interval as text, `-` where there is none."""
    if measure is None or measure["low"] is None:
        return "-"
    return f"{measure['low']:.2f} to {measure['high']:.2f}"


def _verdict(
    winner: Mapping[str, Any] | None, name: str, baseline: Mapping[str, Any] | None, n_failed: int
) -> Verdict:
    what = _NAMES.get(name, name)
    if winner is None or baseline is None:
        failed = "the winner" if winner is None else what
        return Verdict(
            baseline=name,
            outcome="unknown",
            text=f"The winner is not compared with {what}: no training under {failed} succeeded.",
        )
    numbers = f"{_shown(winner)} against {_shown(baseline)}"
    if winner["iqm"] <= baseline["iqm"]:
        outcome: Outcome = "does not beat"
        text = f"The winner does not beat {what}: fitness {numbers}."
    elif n_failed:
        outcome = "ahead"
        text = f"The winner is ahead of {what}, but {n_failed} trainings failed: fitness {numbers}."
    elif winner["low"] is None or baseline["low"] is None:
        outcome = "ahead"
        text = f"The winner is ahead of {what}, but one seed proves nothing: fitness {numbers}."
    elif winner["low"] <= baseline["high"]:
        outcome = "ahead"
        text = f"The winner is ahead of {what}, but the 95 % intervals overlap: fitness {numbers}."
    else:
        outcome = "beats"
        text = f"The winner beats {what}: fitness {numbers}."
    return Verdict(baseline=name, outcome=outcome, text=text)


def _shown(measure: Mapping[str, Any]) -> str:
    ends = "" if measure["low"] is None else f" ({interval(measure)})"
    return f"{measure['iqm']:.2f}{ends}"
