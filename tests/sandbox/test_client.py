"""The client against forged frames, texts and numbers."""

import os

import numpy as np
import pytest

from rewardsmith.errors import CandidateError, FailureCode, SandboxUnavailableError
from rewardsmith.services.sandbox.client import EndedError
from rewardsmith.services.sandbox.untrusted import clean, parse_names
from rewardsmith.worker.reward.frame import FIRST_CALL_SEQ, AnswerFrame, Status
from sandbox.helpers import batch, wired

GOOD = AnswerFrame(
    seq=FIRST_CALL_SEQ, status=Status.OK, n=2, n_components=0, names_version=0, text_bytes=2, cpu_ns=5
)


def forge(client, server, frame, text=b"[]", numbers=(0.0, 0.0)):
    """Let the answer to the next request be this, as if the server wrote it when it was asked."""
    start = server._geometry.text_offset
    server._answer[start : start + len(text)] = text
    server._answer[: 8 * len(numbers)] = np.array(numbers).tobytes()
    receive = client._receive

    def answered(*args, **kwargs):
        os.write(server._answer_fd, frame if isinstance(frame, bytes) else frame.pack())
        return receive(*args, **kwargs)

    client._receive = answered


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"seq": 99}, "another request"),
        ({"n": 3}, "3 rows to 2"),
        ({"n_components": 33}, "33 components"),
        ({"n_components": 1}, "named 0"),
        ({"text_bytes": 2**31}, "bytes of text"),
        ({"status": Status.RAISED, "text_bytes": 9000}, "bytes of text"),
        ({"status": Status.LOCK_FAILED}, "status 17"),
        ({"status": Status.READY}, "status 18"),
        ({"status": 4_000_000_000}, "status 4000000000"),
    ],
)
def test_a_forged_frame_is_a_protocol_error(change, text):
    with wired() as (client, server):
        forge(client, server, GOOD._replace(**change))
        with pytest.raises(CandidateError, match=text) as caught:
            client.call(batch(2))
    assert caught.value.code is FailureCode.PROTOCOL


def test_the_same_frame_without_a_change_is_accepted():
    with wired() as (client, server):
        forge(client, server, GOOD, numbers=(1.0, 2.0))
        np.testing.assert_array_equal(client.call(batch(2)).reward, [1.0, 2.0])


@pytest.mark.parametrize("data", [b"x", GOOD.pack() + b"x", GOOD.pack() * 2])
def test_a_frame_of_another_size_is_a_protocol_error(data):
    with wired() as (client, server):
        forge(client, server, data)
        with pytest.raises(CandidateError, match="where an answer has"):
            client.call(batch(2))


def test_an_answer_before_the_question_is_a_protocol_error():
    with wired() as (client, server):
        os.write(server._answer_fd, GOOD.pack())
        with pytest.raises(CandidateError, match="before it was asked"):
            client.call(batch(2))


def test_components_of_a_potential_are_a_protocol_error():
    with wired() as (client, server):
        forge(client, server, GOOD._replace(n_components=1))
        with pytest.raises(CandidateError, match="components of a potential"):
            client.potential(np.zeros((2, 4)))


def test_no_answer_is_a_time_out():
    with wired(call_timeout_s=0.02) as (client, _), pytest.raises(CandidateError) as caught:
        client.call(batch(2))
    assert caught.value.code is FailureCode.TIMEOUT


def test_an_end_is_told_apart_from_an_answer():
    with wired() as (client, server):
        os.close(server._answer_fd)
        with pytest.raises(EndedError):
            client.call(batch(2))


def test_an_end_during_a_call_is_seen():
    with wired() as (client, server):
        os.close(server._answer_fd)
        with pytest.raises(EndedError):
            client._receive(FIRST_CALL_SEQ, 1000)


def test_a_closed_request_pipe_is_an_end():
    with wired() as (client, server):
        os.close(server._request_fd)
        with pytest.raises(EndedError):
            client.call(batch(2))


def test_a_failed_lock_is_not_the_candidates_fault():
    with wired() as (client, server):
        server.say(0, Status.LOCK_FAILED, "no Landlock")
        with pytest.raises(SandboxUnavailableError, match="no Landlock"):
            client.wait_locked(1.0)


def test_the_facts_of_the_lock_are_told():
    with wired() as (client, server):
        server.say(0, Status.LOCKED, n=5, k=3)
        server.say(1, Status.READY)
        assert client.wait_locked(1.0) == {"landlock": "ABI 5", "seccomp": "allow list", "user": "nobody"}
        client.wait_ready(1.0)
        assert not client.has_potential


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", FailureCode.PROTOCOL),
        (b"\x80\x04N.", FailureCode.PROTOCOL),
        (b"[" * 8000, FailureCode.PROTOCOL),
        (b"[NaN]", FailureCode.PROTOCOL),
        (b'{"a": 1}', FailureCode.PROTOCOL),
        (b'"a"', FailureCode.PROTOCOL),
        (b"[[]]", FailureCode.PROTOCOL),
        (b'["a", "a"]', FailureCode.PROTOCOL),
        (b"[" + b'"a",' * 40 + b'"b"]', FailureCode.PROTOCOL),
        (b'["<b>"]', FailureCode.BAD_ANSWER),
        (b'["a\\n"]', FailureCode.BAD_ANSWER),
        (b'["1a"]', FailureCode.BAD_ANSWER),
        (b'[""]', FailureCode.BAD_ANSWER),
        (b'["' + b"a" * 41 + b'"]', FailureCode.BAD_ANSWER),
        ('["é"]'.encode(), FailureCode.BAD_ANSWER),
    ],
)
def test_names_that_are_not_plain_are_refused(data, code):
    with pytest.raises(CandidateError) as caught:
        parse_names(data)
    assert caught.value.code is code


def test_plain_names_are_read():
    assert parse_names(b'["reach", "Goal 2_b"]') == ("reach", "Goal 2_b")


def test_text_loses_escapes_and_hidden_characters():
    said = b"\x1b[31mred\x1b[0m\x1b]0;title\x07 \xe2\x80\xaeback\x00\xff\r\nnext\tcell \x9b \x1b"
    assert clean(said) == "red back�\nnext\tcell �"
    assert clean("x" * 50, limit=10) == "x" * 9 + "…"
