"""Read-only view of a run's model calls: what was said, what was answered, what it cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardsmith.loop.records import RunRecord
from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.chat.caller import Attempt
from rewardsmith.services.chat.record import is_call, read_outcome
from rewardsmith.services.journal.events import read_events


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message that was sent.

    Attributes:
        role: `system`, `user` or `assistant`.
        text: what was said.
        images: references of the PNG files that went with it.
    """

    role: str
    text: str
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One model call.

    Attributes:
        key: structural, such as `i01/c02/propose`.
        asker: `coder` or `evaluator`.
        model: whom it went to.
        time: when it began, in Unix seconds.
        messages: the conversation.
        reply: the answer; None where there is none, or none yet.
        fault: why there is no answer, or None.
        message: one line about that.
        usd: what it cost, or None where that is not known.
        attempts: every attempt; empty while it is under way.
        is_answered: whether it is over.
    """

    key: str
    asker: str
    model: str
    time: float
    messages: tuple[Said, ...]
    reply: ChatReply | None
    fault: str | None
    message: str
    usd: float | None
    attempts: tuple[Attempt, ...]
    is_answered: bool

    @property
    def latency_s(self) -> float:
        """Time of all attempts, without the waits between them."""
        return sum(attempt.latency_s for attempt in self.attempts)

    def holds(self, text: str) -> bool:
        """Return whether a text occurs in what was said or answered; case does not matter."""
        reply = (self.reply.text, self.reply.reasoning, self.reply.refusal or "") if self.reply else ()
        spoken = (*(m.text for m in self.messages), *reply, self.message)
        return any(text.lower() in part.lower() for part in spoken)


def read_calls(record: RunRecord) -> list[CallRecord]:
    """Return every model call of a run, in the order in which they were begun.

    Raises:
        RunFolderError: the journal or an object is missing or damaged.
    """
    path, objects = record.folder.journal_path, record.folder.objects
    events = list(read_events(path)) if path.exists() else []
    answers = {e.key: e.data for e in events if e.type == "answer" and is_call(e.data)}
    # A call that was cut off was begun again under the same key: the last time counts.
    requests = {e.key: e for e in events if e.type == "request" and "asker" in e.data}
    conversations: dict[str, tuple[Said, ...]] = {}
    calls = []
    for key, event in requests.items():
        ref = event.data["messages"]
        if ref not in conversations:
            conversations[ref] = _conversation(objects.get_json(ref))
        row: Mapping[str, Any] | None = answers.get(key)
        outcome = read_outcome(row, objects) if row is not None else None
        calls.append(
            CallRecord(
                key=key,
                asker=event.data["asker"],
                model=event.data["model"],
                time=event.time,
                messages=conversations[ref],
                reply=outcome.reply if outcome else None,
                fault=outcome.fault if outcome else None,
                message=outcome.message if outcome else "",
                usd=outcome.usd if outcome else None,
                attempts=outcome.attempts if outcome else (),
                is_answered=outcome is not None,
            )
        )
    return calls


def _conversation(rows: Sequence[Mapping[str, Any]]) -> tuple[Said, ...]:
    return tuple(Said(role=r["role"], text=r["text"], images=tuple(r["images"])) for r in rows)
