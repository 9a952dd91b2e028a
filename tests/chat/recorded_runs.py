"""Run folders with model calls in them."""

from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.chat.caller import Attempt, CallOutcome
from rewardsmith.services.chat.record import outcome_row
from rewardsmith.services.journal.folder import RunFolder
from rewardsmith.services.journal.journal import Effect


def outcome_of(text):
    return CallOutcome(reply=ChatReply(text=text), attempts=(Attempt(fault=None, latency_s=0.5),))


def recorded_run(root, outcomes, *, name="recorded"):
    """A run whose journal holds so many calls by their keys, and an effect of another kind."""
    folder = RunFolder.create(root, name, {"task": "toy/walk"})
    with folder.writer() as journal:
        journal.effect(Effect(key="i01/rank", request={}, run=lambda: {"order": []}))
        for key, outcome in outcomes.items():
            row = outcome_row(outcome, folder.objects)
            journal.effect(Effect(key=key, request={"model": "m"}, run=lambda row=row: row))
    return folder
