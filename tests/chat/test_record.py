"""Calls as a journal holds them."""

import json
from dataclasses import replace

import pytest
from chat_calls import REQUEST
from recorded_runs import outcome_of, recorded_run

from rewardsmith.errors import ConfigError, ModelError, RunFolderError
from rewardsmith.services.chat.base import CallFault, ChatMessage, ChatReply, TokenUsage
from rewardsmith.services.chat.caller import Attempt, CallOutcome
from rewardsmith.services.chat.record import Recording, is_call, outcome_row, read_outcome, request_row
from rewardsmith.services.journal.objects import ObjectStore

FAILED = Attempt(fault=CallFault.RATE_LIMIT, message="Come back later.", status=429, latency_s=0.125)
ANSWERED = CallOutcome(
    reply=ChatReply(
        text="\U0001f600 hello\x00\n",
        reasoning="hm",
        finish_reason="length",
        refusal="no",
        usage=TokenUsage(prompt=10, cached=8, completion=5, reasoning=2),
        model="m-2026",
    ),
    usd=0.25,
    attempts=(FAILED, Attempt(fault=None, latency_s=2.5)),
)
UNANSWERED = CallOutcome(
    reply=None, fault=CallFault.RATE_LIMIT, message="Come back later.", attempts=(FAILED, FAILED)
)


@pytest.fixture
def objects(tmp_path):
    return ObjectStore(tmp_path / "objects")


@pytest.mark.parametrize(
    "outcome", [ANSWERED, UNANSWERED, outcome_of("")], ids=["answer", "failure", "empty"]
)
def test_an_outcome_comes_back_from_json_as_it_was(outcome, objects):
    row = json.loads(json.dumps(outcome_row(outcome, objects), allow_nan=False))
    assert is_call(row)
    read = read_outcome(row, objects)
    assert read == outcome
    assert all(type(attempt.fault) in (CallFault, type(None)) for attempt in read.attempts)


def test_texts_lie_in_the_store_and_not_in_the_journal(objects):
    assert "hello" not in json.dumps(outcome_row(ANSWERED, objects))


def test_a_request_is_recorded_whole(objects):
    png = b"\x89PNG\xff"
    message = ChatMessage(role="user", text="Look.", images=(png,))
    request = replace(REQUEST, messages=(message,), temperature=0.5, max_tokens=7, schema={"type": "object"})
    row = json.loads(json.dumps(request_row(request, objects)))
    (recorded,) = objects.get_json(row["messages"])
    assert (recorded["role"], recorded["text"]) == ("user", "Look.")
    assert [objects.get_bytes(ref) for ref in recorded["images"]] == [png]
    assert (row["temperature"], row["max_tokens"]) == (0.5, 7)
    assert objects.get_json(row["schema"]) == {"type": "object"}
    assert request_row(REQUEST, objects)["schema"] is None


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, messages=REQUEST.messages[:1]),
        replace(REQUEST, temperature=0.5),
        replace(REQUEST, max_tokens=1),
        replace(REQUEST, schema={}),
        replace(REQUEST, messages=(*REQUEST.messages[:1], replace(REQUEST.messages[1], images=(b"x",)))),
    ],
)
def test_different_requests_have_different_rows(other, objects):
    assert request_row(other, objects) != request_row(REQUEST, objects)


def test_a_recording_answers_by_key(tmp_path):
    folder = recorded_run(tmp_path, {"i01/c00/propose": ANSWERED, "i01/c01/propose": UNANSWERED})
    recording = Recording(folder.path)
    assert recording.ask("i01/c00/propose", REQUEST) == ANSWERED
    assert recording.ask("i01/c01/propose", REQUEST) == UNANSWERED
    recording.cancel()
    recording.close()


def test_a_later_round_counts_more_than_the_one_without_answers(tmp_path):
    key = "i01/c00/propose"
    rounds = {key: UNANSWERED, f"{key}/again1": UNANSWERED, f"{key}/again2": ANSWERED}
    recording = Recording(recorded_run(tmp_path, rounds).path)
    assert recording.ask(key, REQUEST) == ANSWERED
    assert recording.ask(f"{key}/again1", REQUEST) == ANSWERED
    assert recording.candidates == 1


def test_a_repair_is_a_call_of_its_own(tmp_path):
    calls = {"i01/critique": outcome_of("wrong"), "i01/critique/repair1": outcome_of("right")}
    recording = Recording(recorded_run(tmp_path, calls).path)
    assert recording.ask("i01/critique", REQUEST).reply.text == "wrong"
    assert recording.ask("i01/critique/repair1", REQUEST).reply.text == "right"


def test_a_call_that_was_not_made_names_how_far_the_run_went(tmp_path):
    calls = {"i01/c00/propose": ANSWERED, "i02/c00/propose": ANSWERED, "rubric": ANSWERED}
    recording = Recording(recorded_run(tmp_path, calls).path)
    with pytest.raises(
        ModelError, match=r"recorded holds no answer to i03/c00/propose; it went as far as i02,"
    ):
        recording.ask("i03/c00/propose", REQUEST)


def test_a_recording_tells_of_its_proposals_and_its_critic(tmp_path):
    proposals = {f"i0{i}/c0{c}/propose": ANSWERED for i in (1, 2) for c in range(3 * i)}
    alone = Recording(recorded_run(tmp_path, proposals, name="alone").path)
    assert (alone.candidates, alone.has_critic) == (3, False)
    criticised = Recording(recorded_run(tmp_path, proposals | {"i01/critique": ANSWERED}).path)
    assert (criticised.candidates, criticised.has_critic) == (3, True)


def test_a_run_without_calls_is_no_recording(tmp_path):
    folder = recorded_run(tmp_path, {})
    for _ in range(2):
        with pytest.raises(ConfigError, match="no language model was called in the run recorded"):
            Recording(folder.path)
        folder.journal_path.unlink(missing_ok=True)


def test_an_answer_that_is_gone_is_told(tmp_path):
    folder = recorded_run(tmp_path, {"rubric": ANSWERED})
    recording = Recording(folder.path)
    for file in folder.objects.folder.rglob("*"):
        if file.is_file():
            file.unlink()
    with pytest.raises(RunFolderError):
        recording.ask("rubric", REQUEST)
