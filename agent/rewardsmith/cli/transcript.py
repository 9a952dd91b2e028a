"""`rewardsmith runs transcript`: every message of a run, with tokens, cost and how the answer ended."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardsmith.cli.console import count, say, say_json
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption, RootOption, RunArgument

if TYPE_CHECKING:
    from rewardsmith.loop.transcript import CallRecord, Said


def transcript(
    run: RunArgument,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="TEXT", help="Calls whose key has TEXT in it: i01, c02, critique."),
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", metavar="TEXT", help="Calls in which TEXT was said.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", metavar="", help="Repeat what several calls have in common.")
    ] = False,
    root: RootOption = DEFAULT_ROOT,
    as_json: JsonOption = False,
) -> None:
    """Show what RUN said to its models and what they answered, with tokens, cost and how each answer ended.

    A conversation that an earlier call had already is not repeated.
    """
    from rewardsmith.loop.records import read_run
    from rewardsmith.loop.transcript import read_calls
    from rewardsmith.services.journal.folder import find_run

    record = read_run(find_run(root, run))
    calls = [
        call
        for call in read_calls(record)
        if (only is None or only in call.key.replace("/", "")) and (search is None or call.holds(search))
    ]
    if as_json:
        say_json({"run": str(record.folder.path), "calls": [_document(call) for call in calls]})
        return
    if not calls:
        say(f"{record.folder.name}: no model calls{' like that' if only or search else ''}")
        return
    shown: set[tuple[Said, ...]] = set()
    for call in calls:
        _show(call, shown, full=full)
    _show_totals(calls)


def _show(call: "CallRecord", shown: "set[tuple[Said, ...]]", *, full: bool) -> None:
    say(f"===== {call.key}  {call.asker}, {call.model}")
    known = 0
    if not full:
        known = max((n for n in range(1, len(call.messages) + 1) if call.messages[:n] in shown), default=0)
    if known:
        say(f"({known} of {len(call.messages)} messages as above)")
    for n, message in enumerate(call.messages, start=1):
        shown.add(call.messages[:n])
        if n > known:
            pictures = f" (and {len(message.images)} pictures)" if message.images else ""
            _say_text(f"{message.role}{pictures}", message.text)
    failed = [attempt for attempt in call.attempts if attempt.fault is not None]
    for attempt in failed:
        status = f" {attempt.status}" if attempt.status is not None else ""
        say(f"attempt failed after {attempt.latency_s:.1f} s: {attempt.fault}{status}: {attempt.message}")
    if call.reply is None:
        say(f"no answer: {call.fault or 'none was recorded'}")
    else:
        if call.reply.reasoning:
            _say_text("reasoning", call.reply.reasoning)
        if call.reply.refusal:
            _say_text("refusal", call.reply.refusal)
        _say_text("answer", call.reply.text)
        say(_figures(call))
    say()


def _say_text(title: str, text: str) -> None:
    say(f"----- {title}")
    for line in text.rstrip().splitlines() or [""]:
        say(line)


def _figures(call: "CallRecord") -> str:
    assert call.reply is not None
    usage = call.reply.usage
    parts = [f"ended: {call.reply.finish_reason or 'unknown'}"]
    parts.append(f"prompt {count(usage.prompt)} tokens ({count(usage.cached)} cached)")
    parts.append(f"answer {count(usage.completion)} tokens ({count(usage.reasoning)} reasoning)")
    parts.append(_usd(call.usd))
    parts.append(f"{call.latency_s:.1f} s")
    return ", ".join(parts)


def _show_totals(calls: "Sequence[CallRecord]") -> None:
    answered = [call for call in calls if call.reply is not None]
    usages = [call.reply.usage for call in answered if call.reply is not None]
    known_usd = [call.usd for call in answered if call.usd is not None]
    n_unknown = len(answered) - len(known_usd)
    cost = _usd(sum(known_usd)) if known_usd else "unknown cost"
    if known_usd and n_unknown:
        cost += f" and {n_unknown} calls of unknown cost"
    say(
        f"{len(calls)} calls, {len(calls) - len(answered)} without an answer, "
        f"{count(sum(u.prompt or 0 for u in usages))} tokens of prompts "
        f"({count(sum(u.cached or 0 for u in usages))} cached), "
        f"{count(sum(u.completion or 0 for u in usages))} of answers, {cost}"
    )


def _usd(usd: float | None) -> str:
    return "unknown cost" if usd is None else f"{usd:.4f} USD"


def _document(call: "CallRecord") -> dict[str, Any]:
    document = asdict(call)
    document["latency_s"] = call.latency_s
    return document
