"""`rewardsmith run --dry-run`: the plan, and the first prompt word for word."""

from collections.abc import Mapping
from typing import Any

from rewardsmith.cli.console import count, say, say_json
from rewardsmith.cli.progress import open_reporter
from rewardsmith.config import RunConfig
from rewardsmith.loop.preview import preview


def show_plan(config: RunConfig, as_json: bool) -> None:
    """Write what a run would do, and what it would say first, to stdout."""
    with open_reporter() as reporter:
        found = preview(config, reporter)
    messages = found.request.messages if found.request is not None else ()
    if as_json:
        shown = [{"role": m.role, "text": m.text} for m in messages]
        schema = found.request.schema if found.request is not None else None
        say_json({"plan": found.plan, "messages": shown, "schema": schema, "config": _config(config)})
        return
    _show(found.plan)
    for message in messages:
        say()
        say(f"----- {message.role} " + "-" * (70 - len(message.role)))
        for line in message.text.rstrip().splitlines():
            say(line)
    if found.request is not None:
        say("-" * 77)
    say("Nothing was asked, trained or written.")


def _show(plan: Mapping[str, Any]) -> None:
    say(f"{plan['task']}: {plan['goal']}")
    evaluator = f", evaluator {plan['evaluator']}" if plan["evaluator"] else ""
    say(f"  model {plan['model']}{evaluator}, method {plan['method']}, seed {plan['seed']}")
    say("At most:")
    say(
        f"  {count(plan['iterations'])} iterations of {count(plan['proposals_per_iteration'])} proposals, "
        f"{count(plan['trainings'])} trainings"
    )
    if plan["coder_calls"]:
        say(
            f"  {count(plan['coder_calls'])} calls for proposals, {count(plan['repair_calls'])} for repairs, "
            f"{count(plan['evaluator_calls'])} to the evaluator"
        )
    say(
        f"  environment steps: {count(plan['training_steps'])} of training, "
        f"{count(plan['judging_steps'])} of judging, {count(plan['store_steps'])} of random episodes"
    )
    limits = [f"{key} {value:,}" for key, value in plan["budget"].items() if value is not None]
    say(f"  budget: {', '.join(limits) or 'no limit'}")


def _config(config: RunConfig) -> dict[str, Any]:
    document: dict[str, Any] = config.model_dump(mode="json")
    return document
