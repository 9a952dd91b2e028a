"""A key that a server repeats goes no further than the client."""

import logging

import pytest
from chat_calls import CLIENTS, KEY, ask

from chat_server import ChatServer, Reply
from rewardsmith.errors import ModelError
from rewardsmith.services.chat.base import CallFault

NAMES = ("OPENAI_API_KEY", "LLM_DOOR")


@pytest.fixture(params=NAMES)
def variable(request, monkeypatch):
    monkeypatch.setenv(request.param, KEY)
    return request.param


def chain(error):
    """An error and everything that it would bring along."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name", CLIENTS)
def test_no_answer_holds_the_key(name, variable):
    def answer(body):
        said = f"I was sent {server.requests[-1].headers['authorization']}, that is {KEY}."
        return Reply(said, reasoning=said, refusal=said)

    with ChatServer(answer) as server:
        outcome = ask(server, name, api_key_env=variable)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert f"that is [{variable}]" in outcome.reply.text
    assert KEY not in repr(outcome)


def test_no_name_of_a_model_holds_the_key(variable, fault):
    def respond(exchange):
        exchange.send(exchange.completion(exchange.reply()) | {"model": KEY})

    named = fault(respond)
    with ChatServer(lambda body: "hello", lambda number: named) as server:
        assert ask(server, api_key_env=variable).reply.model == f"[{variable}]"


@pytest.mark.parametrize("name", CLIENTS)
def test_no_failure_holds_the_key(name, variable):
    with ChatServer(lambda body: "hello", lambda number: "echo_key") as server:
        outcome = ask(server, name, api_key_env=variable)
    assert f"[{variable}]" in outcome.message
    assert KEY not in repr(outcome)


@pytest.mark.parametrize("name", CLIENTS)
def test_no_error_holds_the_key_nor_do_the_errors_behind_it(name, variable, fault):
    said = f"Not with\n{KEY}, please."
    refused = fault(lambda exchange: exchange.send({"error": {"message": said}}, 400))
    with (
        ChatServer(lambda body: "hello", lambda number: refused) as server,
        pytest.raises(ModelError, match=rf"Not with \[{variable}\], please\.") as raised,
    ):
        ask(server, name, api_key_env=variable)
    assert not [error for error in chain(raised.value) if KEY in repr(vars(error)) + str(error)]


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("status", [200, 500])
def test_a_message_is_not_cut_in_the_middle_of_a_key(name, status, variable, fault):
    for n_before in (290, 330, 390):
        body = {"error": {"message": "x" * n_before + KEY, "code": 502}}
        respond = fault(lambda exchange, body=body: exchange.send(body, status))
        with ChatServer(lambda body: "hello", lambda number, fault=respond: fault) as server:
            outcome = ask(server, name, api_key_env=variable, attempts=1)
        assert outcome.fault == CallFault.SERVER
        assert "xxx" in outcome.message
        assert KEY[:3] not in outcome.message


@pytest.mark.parametrize("name", CLIENTS)
def test_a_masked_key_is_not_shown_either(name, variable):
    with (
        ChatServer(lambda body: "hello", lambda number: "401") as server,
        pytest.raises(ModelError) as raised,
    ):
        ask(server, name, api_key_env=variable)
    assert KEY[:8] not in str(raised.value)
    assert KEY[-4:] not in str(raised.value)
    assert f"the key in {variable} is not accepted" in str(raised.value)


@pytest.mark.parametrize("name", CLIENTS)
def test_no_logger_tells_the_key(name, variable, caplog):
    caplog.set_level(logging.DEBUG)
    for logger in ("openai", "httpx", "httpx2", "LiteLLM", "asyncio", "rewardsmith"):
        caplog.set_level(logging.DEBUG, logger)
    faults = ["echo_key", "dropped", "401"]
    with (
        ChatServer(lambda body: "hello", lambda number: faults[number]) as server,
        pytest.raises(ModelError),
    ):
        ask(server, name, api_key_env=variable, attempts=3)
    assert "a model call failed" in caplog.text
    assert KEY not in caplog.text


def test_a_server_cannot_write_to_the_terminal_through_its_errors(fault):
    said = "\x1b[2J\x1b]0;title\x07wiped\u202e"
    respond = fault(lambda exchange: exchange.send({"error": {"message": said}}, 500))
    with ChatServer(lambda body: "hello", lambda number: respond) as server:
        assert ask(server).message == "wiped"
