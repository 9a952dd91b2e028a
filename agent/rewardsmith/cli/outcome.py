"""Shows what a run ended with: totals first, the comparison with the baselines last."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rewardsmith.cli.console import Column, count, number, plural, say, say_json, say_table
from rewardsmith.cli.verdicts import WINNER, interval, verdicts, why_not_normalised
from rewardsmith.config import WEAK_SANDBOX_NOTICE
from rewardsmith.loop.records import REWARD_FILE

_ARMS = (
    Column(title="reward"),
    Column(title="fitness", align="right"),
    Column(title="95 % interval"),
    Column(title="success", align="right"),
    Column(title="at last step", align="right"),
    Column(title="progress", align="right"),
    Column(title="seeds", align="right"),
)


def show_outcome(folder: Path, result: Mapping[str, Any], as_json: bool) -> None:
    """Write a run's result to stdout."""
    if as_json:
        say_json(outcome_document(folder, result))
        return
    evaluator = f", evaluator {result['evaluator']}" if result["evaluator"] else ""
    say(
        f"{result['task']}, model {result['model']}{evaluator}, method {result['method']}, "
        f"seed {result['seed']}"
    )
    if result["reduced_isolation"]:
        say(WEAK_SANDBOX_NOTICE)
    say(f"Ended: {result['ended']}")
    if result["expert_episodes"]:
        say(f"Expert episodes: {result['expert_episodes']} of the task's own expert were in the store")
    _show_winner(result)
    _show_totals(result["totals"])
    say(f"Run folder: {folder}")
    if (folder / REWARD_FILE).is_file():
        say(f"Reward file: {folder / REWARD_FILE}")
    if result["final"] is not None:
        say()
        _show_final(result["final"])


def outcome_document(folder: Path, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's result with its place and its verdicts, ready for JSON."""
    reward_file = folder / REWARD_FILE
    final = result["final"]
    return {
        "run": str(folder),
        "reward_file": str(reward_file) if reward_file.is_file() else None,
        **result,
        "verdicts": [asdict(verdict) for verdict in verdicts(final["arms"])] if final else [],
    }


def _show_winner(result: Mapping[str, Any]) -> None:
    winner = result["winner"]
    if winner is None:
        given = result.get("given")
        why = "no candidate was trained and judged" if result["iterations"] else "nothing was searched"
        if given is not None:
            why = f"the reward was turned down, {given['failure']}: {given['message']}"
        say(f"No winner: {why}")
        return
    if result.get("given") is not None:
        say(f"Reward: {winner['origin']}, preference accuracy {number(winner['preference'])}")
        return
    fitness, progress = number(winner["fitness"]), number(winner["progress"])
    seeds = winner["confirmed_seeds"]
    how = f"confirmed with {plural(seeds, 'fresh seed')}" if seeds else "from one training"
    say(f"Winner: {winner['id']} ({winner['origin']}), fitness {fitness}, progress {progress}, {how}")


def _show_totals(totals: Mapping[str, Any]) -> None:
    usd = "unknown cost" if totals["usd"] is None else f"{totals['usd']:.2f} USD"
    if totals["usd"] and totals["calls_of_unknown_cost"]:
        usd += f" and {count(totals['calls_of_unknown_cost'])} calls of unknown cost"
    say(
        f"Used: {count(totals['proposals'])} proposals, {count(totals['trainings'])} trainings, "
        f"{count(totals['env_steps'])} environment steps, {count(totals['tokens'])} tokens, {usd}"
    )


def _show_final(final: Mapping[str, Any]) -> None:
    arms = final["arms"]
    if final["note"]:
        say(f"Final comparison: {final['note']}")
    if not arms:
        return
    say("Fitness over fresh seeds at full budget (interquartile means):")
    say_table(_ARMS, [_row(name, arm) for name, arm in arms.items()])
    for name, arm in arms.items():
        if arm["failure"] is not None:
            say(f"{name}: {arm['n_failed']} trainings failed, first with {arm['failure']['message']}")
    say()
    if WINNER not in arms:
        return
    score = final["human_normalised"]
    say(f"Human-normalised score: {why_not_normalised(arms) if score is None else number(score)}")
    for verdict in verdicts(arms):
        say(verdict.text)


def _row(name: str, arm: Mapping[str, Any]) -> list[str]:
    fitness = arm["fitness_iqm"]
    return [
        name,
        _mean(fitness),
        interval(fitness),
        *(_mean(arm[f"{measure}_iqm"]) for measure in ("success", "success_last", "progress")),
        str(len(arm["fitness"])),
    ]


def _mean(measure: Mapping[str, Any] | None) -> str:
    return number(None if measure is None else measure["iqm"])
