"""`rewardsmith task check`: whether a task keeps its own contract."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardsmith.cli.console import say, say_json
from rewardsmith.cli.options import JsonOption, TaskArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewardsmith.services.tasks.schema import Task

EXIT_FINDINGS = 2


def check_task(
    task: TaskArgument,
    timeout_s: Annotated[
        float, typer.Option(min=1, metavar="S", help="Seconds that the check may take.")
    ] = 300.0,
    as_json: JsonOption = False,
) -> None:
    """Play random episodes of TASK and test its state, measures and reproducibility.

    Exit code 2 where something is wrong.
    """
    from rewardsmith.services.tasks.catalog import load_task, require_extras

    found = load_task(task)
    require_extras(found)
    result = checked(found, timeout_s)
    if as_json:
        say_json(result)
    else:
        say_findings(result)
    if not result["passed"]:
        raise typer.Exit(EXIT_FINDINGS)


def say_findings(result: "Mapping[str, Any]") -> None:
    """Write the findings of a check, and what they come to."""
    for finding in result["findings"]:
        say(f"{finding['level']:<8} {finding['text']}")
    n_errors = sum(finding["level"] == "error" for finding in result["findings"])
    say(f"{result['task']}: {f'{n_errors} errors' if n_errors else 'keeps its contract'}")


def checked(task: "Task", timeout_s: float) -> dict[str, Any]:
    """Return `task`, whether it `passed`, and the `findings` of a check of a task's contract."""
    findings = _findings(task, timeout_s)
    passed = all(finding["level"] != "error" for finding in findings)
    return {"task": task.name, "passed": passed, "findings": findings}


def _findings(task: "Task", timeout_s: float) -> list[dict[str, str]]:
    from rewardsmith.services.executor.trainers import TrainerHost

    host = TrainerHost(task)
    try:
        (answer,) = host.run({"kind": "check", "seed": 0}, timeout_s)
    finally:
        host.close()
    findings: list[dict[str, str]] = answer["findings"]
    return findings
