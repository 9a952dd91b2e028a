"""A call as the journal holds it, and back; recorded runs answer calls again."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rewardsmith.errors import ConfigError, ModelError
from rewardsmith.services.chat.base import CallFault, ChatReply, ChatRequest, TokenUsage
from rewardsmith.services.chat.caller import Attempt, CallOutcome
from rewardsmith.services.journal.events import read_events
from rewardsmith.services.journal.folder import RunFolder
from rewardsmith.services.journal.objects import ObjectStore

AGAIN = "/again"
"""Marks the keys of calls that are made anew, after a run stopped since no call was answered."""


def request_row(request: ChatRequest, objects: ObjectStore) -> dict[str, Any]:
    """Return a question ready for the journal; its texts and images go into the store."""
    messages = [
        {"role": m.role, "text": m.text, "images": [objects.put_bytes(png) for png in m.images]}
        for m in request.messages
    ]
    return {
        "messages": objects.put_json(messages),
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "schema": request.schema and objects.put_json(dict(request.schema)),
    }


def outcome_row(outcome: CallOutcome, objects: ObjectStore) -> dict[str, Any]:
    """Return what a call came to, ready for the journal."""
    reply = outcome.reply
    said = reply and {"text": reply.text, "reasoning": reply.reasoning, "refusal": reply.refusal}
    return {
        "reply": said and objects.put_json(said),
        "finish_reason": reply and reply.finish_reason,
        "served_by": reply and reply.model,
        "usage": reply and asdict(reply.usage),
        "usd": outcome.usd,
        "fault": outcome.fault,
        "message": outcome.message,
        "attempts": [
            {"fault": a.fault, "message": a.message, "status": a.status, "latency_s": round(a.latency_s, 4)}
            for a in outcome.attempts
        ],
    }


def read_outcome(row: Mapping[str, Any], objects: ObjectStore) -> CallOutcome:
    """Rebuild what `outcome_row` wrote.

    Raises:
        RunFolderError: an object is missing or damaged.
    """
    reply = None
    if row["reply"] is not None:
        said = objects.get_json(row["reply"])
        reply = ChatReply(
            **said,
            finish_reason=row["finish_reason"],
            model=row["served_by"],
            usage=TokenUsage(**row["usage"]),
        )
    attempts = [Attempt(**{**a, "fault": a["fault"] and CallFault(a["fault"])}) for a in row["attempts"]]
    return CallOutcome(
        reply=reply,
        fault=row["fault"] and CallFault(row["fault"]),
        message=row["message"],
        usd=row["usd"],
        attempts=tuple(attempts),
    )


def is_call(row: Mapping[str, Any]) -> bool:
    """Return whether an effect's answer is that of a model call."""
    return "attempts" in row and "reply" in row


class Recording:
    """Answers calls as an earlier run had them answered, by structural key; nothing is sent anywhere.

    Args:
        path: folder of that run.

    Raises:
        RunFolderError: it is no run folder, or damaged.
        ConfigError: no model was called in that run.
    """

    def __init__(self, path: Path) -> None:
        folder = RunFolder.open(path)
        self._objects, self._name = folder.objects, folder.name
        self._rows: dict[str, Mapping[str, Any]] = {}
        events = read_events(folder.journal_path) if folder.journal_path.exists() else ()
        for event in events:
            if event.type == "answer" and is_call(event.data):
                # A later round replaces the one in which nothing was answered.
                self._rows[event.key.split(AGAIN)[0]] = event.data
        if not self._rows:
            raise ConfigError(f"replay: no language model was called in the run {folder.name}")

    @property
    def has_critic(self) -> bool:
        """Whether an evaluator was asked in that run."""
        return any(key.startswith("rubric") or "/critique" in key for key in self._rows)

    @property
    def candidates(self) -> int:
        """Proposals of its first iteration."""
        return sum(key.startswith("i01/") and key.endswith("/propose") for key in self._rows)

    def ask(self, key: str, request: ChatRequest) -> CallOutcome:
        """Return the recorded answer to the call `key`.

        Raises:
            ModelError: there is none.
        """
        row = self._rows.get(key.split(AGAIN)[0])
        if row is None:
            reached = max((k.split("/")[0] for k in self._rows if k.startswith("i")), default="its start")
            raise ModelError(
                f"replay: the run {self._name} holds no answer to {key}; it went as far as {reached}, "
                "with the options that stand in its run.yaml"
            )
        return read_outcome(row, self._objects)

    def cancel(self) -> None:
        """Do nothing: an answer takes no time."""

    def close(self) -> None:
        """Do nothing."""
