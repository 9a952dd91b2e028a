"""Attempts, waits, deadlines, and callers that several threads share."""

import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from email.utils import formatdate

import pytest
from chat_calls import CLIENTS, REQUEST, ask, opened

from chat_server import ChatServer, Reply
from rewardsmith.services.chat.base import CallFault


def busy(status, headers):
    """A fault with headers that are made anew for each response."""
    error = {"error": {"message": "Come back later.", "type": "busy"}}
    return lambda exchange: exchange.send(error, status, headers())


def wait_for(condition):
    ends = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.005)


def test_attempts_end_at_the_configured_number_and_each_is_recorded():
    faults = ["503", "dropped", "429", "not_json"]
    with ChatServer(lambda body: "late", lambda number: faults[number]) as server:
        outcome = ask(server, attempts=3)
        assert len(server.requests) == 3
    assert (outcome.reply, outcome.fault) == (None, CallFault.RATE_LIMIT)
    assert [(attempt.fault, attempt.status) for attempt in outcome.attempts] == [
        (CallFault.SERVER, 503),
        (CallFault.CONNECTION, None),
        (CallFault.RATE_LIMIT, 429),
    ]
    assert outcome.message == outcome.attempts[-1].message
    assert all(attempt.latency_s > 0 for attempt in outcome.attempts)


def test_waits_between_attempts_grow_from_backoff_s(monkeypatch):
    monkeypatch.setattr("tenacity.wait.random.uniform", lambda low, high: high)
    with ChatServer(lambda body: "hello", lambda number: "503" if number < 3 else None) as server:
        started = time.monotonic()
        outcome = ask(server, attempts=4, backoff_s=0.05)
        assert time.monotonic() - started >= 0.05 + 0.1 + 0.2
    assert outcome.reply.text == "hello"


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(
    "headers",
    [
        lambda: {"Retry-After": "0.4"},
        lambda: {"retry-after-ms": "400", "Retry-After": "60"},
        # Dates have no fractions of a second.
        lambda: {"Retry-After": formatdate(time.time() + 1.4, usegmt=True)},
    ],
    ids=["seconds", "milliseconds", "date"],
)
def test_the_wait_that_a_server_asks_for_is_kept(name, headers, fault):
    later = fault(busy(429, headers))
    with (
        ChatServer(lambda body: "hello", lambda number: None if number else later) as server,
        opened(server, name) as caller,
    ):
        started = time.monotonic()
        outcome = caller.ask("key", REQUEST)
        assert 0.4 <= time.monotonic() - started < 4.0
    assert outcome.reply.text == "hello"


@pytest.mark.parametrize("value", ["soon", "-5", "nan", "Mon, 99 Foo 2020 00:00:00 GMT", ""])
def test_a_wait_that_makes_no_sense_counts_as_none(value, fault):
    later = fault(busy(503, lambda: {"Retry-After": value}))
    with ChatServer(lambda body: "hello", lambda number: None if number else later) as server:
        started = time.monotonic()
        outcome = ask(server)
        assert time.monotonic() - started < 2.0
    assert outcome.reply.text == "hello"


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("value", ["3600", "inf"])
def test_a_server_that_asks_for_more_than_max_wait_s_is_given_up_at_once(name, value, fault):
    later = fault(busy(429, lambda: {"Retry-After": value}))
    with (
        ChatServer(lambda body: "hello", lambda number: later) as server,
        opened(server, name, attempts=5, max_wait_s=100.0) as caller,
    ):
        started = time.monotonic()
        outcome = caller.ask("key", REQUEST)
        assert time.monotonic() - started < 2.0
        assert len(server.requests) == 1
    assert outcome.fault == CallFault.RATE_LIMIT


def test_a_server_that_asks_for_no_wait_is_not_hit_at_once(monkeypatch):
    monkeypatch.setattr("tenacity.wait.random.uniform", lambda low, high: high)
    with ChatServer(lambda body: "hello", lambda number: None if number else "429") as server:
        started = time.monotonic()
        ask(server, backoff_s=0.2)
        assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_that_drips_is_ended_by_the_wall_clock(name):
    with (
        ChatServer(lambda body: "hello", lambda number: "drip") as server,
        opened(server, name, attempts=1, timeout_s=0.4) as caller,
    ):
        started = time.monotonic()
        outcome = caller.ask("key", REQUEST)
        assert 0.4 <= time.monotonic() - started < 3.0
    assert outcome.fault == CallFault.TIMEOUT
    assert outcome.message == "no answer within 0.4 s"


def test_a_filtered_question_is_a_refusal(fault):
    said = {"error": {"message": "The prompt triggered our content management policy.", "code": "x"}}
    filtered = fault(lambda exchange: exchange.send(said, 400))
    with ChatServer(lambda body: "hello", lambda number: filtered) as server:
        outcome = ask(server)
    assert outcome.reply.finish_reason == "content_filter"
    assert "content management policy" in outcome.reply.refusal


@pytest.mark.parametrize("name", CLIENTS)
def test_cancelling_frees_a_call_that_waits_for_its_answer(name):
    with ChatServer(lambda body: "hello", lambda number: "timeout") as server, opened(server, name) as caller:
        waiting = ThreadPoolExecutor().submit(caller.ask, "key", REQUEST)
        wait_for(lambda: server.requests)
        caller.cancel()
        with pytest.raises(CancelledError):
            waiting.result(timeout=1.0)


def test_cancelling_frees_a_call_that_waits_for_its_next_attempt(fault):
    later = fault(busy(503, lambda: {"Retry-After": "60"}))
    with ChatServer(lambda body: "hello", lambda number: later) as server, opened(server) as caller:
        waiting = ThreadPoolExecutor().submit(caller.ask, "key", REQUEST)
        wait_for(lambda: server.requests)
        time.sleep(0.1)
        caller.cancel()
        with pytest.raises(CancelledError):
            waiting.result(timeout=1.0)


def test_a_call_that_was_about_to_begin_is_given_up_as_well():
    with ChatServer(lambda body: "hello") as server, opened(server) as caller:
        caller.cancel()
        with pytest.raises(CancelledError):
            caller.ask("key", REQUEST)
        assert not server.requests


@pytest.mark.parametrize("name", CLIENTS)
def test_closing_frees_a_call_that_waits(name):
    with ChatServer(lambda body: "hello", lambda number: "timeout") as server, opened(server, name) as caller:
        waiting = ThreadPoolExecutor().submit(caller.ask, "key", REQUEST)
        wait_for(lambda: server.requests)
        caller.close()
        with pytest.raises(CancelledError):
            waiting.result(timeout=1.0)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_closed_caller_refuses_calls_at_once(name):
    with ChatServer(lambda body: "hello") as server, opened(server, name) as caller:
        assert caller.ask("key", REQUEST).reply.text == "hello"
        caller.close()
        caller.close()
        with pytest.raises(CancelledError):
            caller.ask("key", REQUEST)


def test_several_threads_may_close_a_caller():
    with ChatServer(lambda body: "hello") as server, opened(server) as caller:
        caller.ask("key", REQUEST)
        started = time.monotonic()
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda _: caller.close(), range(8)))
        assert time.monotonic() - started < 2.0


@pytest.mark.parametrize("name", CLIENTS)
def test_closing_one_caller_leaves_the_calls_of_another_alone(name):
    arrived, may_answer = threading.Event(), threading.Event()

    def answer(body):
        if arrived.is_set():
            return "hello"
        arrived.set()
        assert may_answer.wait(5.0)
        return "hello"

    with ChatServer(answer) as server, opened(server, name) as one, opened(server, name) as other:
        waiting = ThreadPoolExecutor().submit(other.ask, "key", REQUEST)
        assert arrived.wait(5.0)
        one.ask("key", REQUEST)
        one.close()
        may_answer.set()
        outcome = waiting.result(timeout=5.0)
    assert len(outcome.attempts) == 1


@pytest.mark.parametrize("name", CLIENTS)
def test_sixteen_threads_share_a_caller(name):
    together = threading.Barrier(16, timeout=5.0)

    def answer(body):
        together.wait()
        return Reply("hello")

    with ChatServer(answer) as server, opened(server, name) as caller, ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(lambda i: caller.ask(f"key{i}", REQUEST), range(16)))
    assert [outcome.reply.text for outcome in outcomes] == ["hello"] * 16
