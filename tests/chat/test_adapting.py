"""What a model turns out not to take is left out, at once and from then on."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from chat_calls import CLIENTS, LITELLM, QUESTION, REQUEST, SYSTEM, ask, conversation, opened

from chat_server import ChatServer
from rewardsmith.config import ModelConfig
from rewardsmith.errors import ModelError
from rewardsmith.services.chat import openai_client
from rewardsmith.services.chat.names import open_answerer

PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"
FULL = replace(REQUEST, temperature=0.5, schema={"type": "object"})
SHOWN = replace(REQUEST, messages=(SYSTEM, replace(QUESTION, images=(PNG,))))


def refusing(*rules):
    """A fault that refuses what the first fitting rule (condition, message) says, and answers otherwise."""

    def respond(exchange):
        for fits, message in rules:
            if fits(exchange.body):
                return exchange.send({"error": {"message": message, "param": None}}, 400)
        return exchange.send(exchange.completion(exchange.reply()))

    return respond


def has(field):
    return lambda body: field in str(body) if field == "image_url" else field in body


def longer_than(n):
    return lambda body: len(body["messages"]) > n


TOO_LONG = "This model's maximum context length is 8192 tokens."


def served(fault, *rules):
    name = fault(refusing(*rules))
    return ChatServer(lambda body: "hello", lambda number: name)


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(
    ("field", "message", "request_"),
    [
        ("temperature", "temperature is not a thing here", FULL),
        ("max_tokens", "'max_tokens' is not supported. Use 'max_completion_tokens' instead.", FULL),
        ("response_format", "This model has no structured outputs", FULL),
        ("image_url", "m is not a multimodal model", SHOWN),
    ],
)
def test_a_refused_parameter_is_remembered(name, field, message, request_, fault):
    with served(fault, (has(field), message)) as server, opened(server, name, attempts=1) as caller:
        first = caller.ask("first", request_)
        second = caller.ask("second", request_)
        assert [has(field)(received.body) for received in server.requests] == [True, False, False]
    assert [first.reply.text, second.reply.text] == ["hello", "hello"]
    assert (len(first.attempts), len(second.attempts)) == (2, 1)


@pytest.mark.parametrize("name", CLIENTS)
def test_max_completion_tokens_stands_in_for_refused_max_tokens(name, fault):
    rule = (has("max_tokens"), "'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
    with served(fault, rule) as server:
        ask(server, name)
        assert server.requests[-1].body["max_completion_tokens"] == REQUEST.max_tokens


def test_max_tokens_stands_in_for_refused_max_completion_tokens(fault, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-opens-nothing")
    with served(fault, (has("max_completion_tokens"), "max_completion_tokens: unknown field")) as server:
        monkeypatch.setattr(openai_client, "OPENAI_URL", server.base_url)
        caller = open_answerer(ModelConfig(name="openai/m", attempts=1))
        try:
            assert caller.ask("key", REQUEST).reply.text == "hello"
        finally:
            caller.close()
        first, second = (received.body for received in server.requests)
    assert (first["max_completion_tokens"], second["max_tokens"]) == (REQUEST.max_tokens, REQUEST.max_tokens)
    assert "max_completion_tokens" not in second


@pytest.mark.parametrize("name", CLIENTS)
def test_two_parameters_are_refused_in_a_row(name, fault):
    rules = (has("temperature"), "no temperature"), (has("response_format"), "no response_format")
    with served(fault, *rules) as server:
        outcome = ask(server, name, FULL, attempts=1)
        assert len(server.requests) == 3
    assert outcome.reply.text == "hello"


def test_a_parameter_that_is_refused_though_it_was_left_out_ends_the_call(fault):
    with (
        served(fault, (lambda body: True, "temperature, and all else, is wrong")) as server,
        pytest.raises(ModelError, match="refuses the request"),
    ):
        ask(server, request=FULL)
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", CLIENTS)
def test_calls_side_by_side_may_all_meet_the_same_refusal(name, fault):
    n = 8
    together = threading.Barrier(n, timeout=5.0)

    def respond(exchange):
        if "temperature" not in exchange.body:
            return exchange.send(exchange.completion(exchange.reply()))
        together.wait()
        return exchange.send({"error": {"message": "no temperature", "param": "temperature"}}, 400)

    refused = fault(respond)
    with (
        ChatServer(lambda body: "hello", lambda number: refused) as server,
        opened(server, name) as caller,
        ThreadPoolExecutor(n) as threads,
    ):
        outcomes = list(threads.map(lambda i: caller.ask(f"key{i}", FULL), range(n)))
        assert len(server.requests) == 2 * n
    assert all(outcome.reply.text == "hello" for outcome in outcomes)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_oldest_turns_go_first_where_a_conversation_is_too_long(name, fault):
    with served(fault, (longer_than(4), TOO_LONG)) as server:
        outcome = ask(server, name, conversation(4))
        sent = [[m["content"] for m in received.body["messages"]] for received in server.requests]
    first = [SYSTEM.text, QUESTION.text]
    rest = [f"{what} {i}" for i in range(4) for what in ("answer", "question")]
    assert sent == [[*first, *rest[2 * n_dropped :]] for n_dropped in range(4)]
    assert outcome.reply.text == "hello"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_prompt_that_is_too_long_by_itself_names_the_remedy(name, fault):
    with (
        served(fault, (lambda body: True, TOO_LONG)) as server,
        pytest.raises(ModelError, match=r"too long .* propose\.history_turns=0"),
    ):
        ask(server, name, conversation(1))
    assert [m["content"] for m in server.requests[-1].body["messages"]] == [SYSTEM.text, QUESTION.text]


def test_a_fault_that_may_pass_does_not_undo_what_was_learnt(fault):
    refused = fault(refusing((has("temperature"), "no temperature")))
    faults = [refused, "503", refused]
    with ChatServer(lambda body: "hello", lambda number: faults[number]) as server:
        outcome = ask(server, LITELLM, FULL)
        assert [has("temperature")(received.body) for received in server.requests] == [True, False, False]
    assert outcome.reply.text == "hello"
