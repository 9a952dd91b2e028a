"""What a call comes to for every fault of a server, with either client."""

from dataclasses import replace

import pytest
from chat_calls import CLIENTS, LITELLM, REQUEST, SDK, ask, conversation, is_one_line, model_of

from chat_server import CAUSES, FATAL, FAULTS, ChatServer
from rewardsmith.errors import ModelError, ModelUnavailableError
from rewardsmith.services.chat.base import CallFault, TokenUsage
from rewardsmith.services.chat.names import open_answerer
from rewardsmith.services.chat.wire import MAX_TEXT_CHARS

HELLO = "hello, here is a reward"

SAME = {
    "429": CallFault.RATE_LIMIT,
    "429_date": CallFault.RATE_LIMIT,
    "429_no_header": CallFault.RATE_LIMIT,
    "429_ms": CallFault.RATE_LIMIT,
    "500": CallFault.SERVER,
    "502_html": CallFault.SERVER,
    "503": CallFault.SERVER,
    "408": CallFault.TIMEOUT,
    "529": CallFault.SERVER,
    "echo_key": CallFault.SERVER,
    "timeout": CallFault.TIMEOUT,
    "drip": CallFault.TIMEOUT,
    "not_json": CallFault.MALFORMED,
    "html_200": CallFault.MALFORMED,
    "empty_body": CallFault.MALFORMED,
    "binary": CallFault.MALFORMED,
    "choices_empty": CallFault.MALFORMED,
    "error_200": CallFault.SERVER,
}
# LiteLLM tells lost connections and bodies of the wrong form as a server's own error.
DIFFERENT = {
    **dict.fromkeys(("dropped", "reset", "half_body", "bad_chunk"), (CallFault.CONNECTION, CallFault.SERVER)),
    **dict.fromkeys(
        ("json_list", "no_choices", "choices_null", "message_null"), (CallFault.MALFORMED, CallFault.SERVER)
    ),
}
RETRIED = {
    (name, fault): either[name == LITELLM]
    for fault, either in {**{fault: (kind, kind) for fault, kind in SAME.items()}, **DIFFERENT}.items()
    for name in CLIENTS
} | {(LITELLM, "usage_garbage"): CallFault.SERVER}
"""Faults after which a second attempt brings the answer, and what the first is recorded as."""

SLOW = ("timeout", "drip")

REFUSALS = {
    "unsupported_temperature": "temperature",
    "unsupported_max_tokens": "max_tokens",
    "unsupported_schema": "response_format",
}


def is_hello(reply):
    return reply.text == HELLO


def is_blank(reply):
    return not reply.text.strip() and not reply.refusal


ANSWERED = {
    "no_usage": lambda reply: is_hello(reply) and reply.usage == TokenUsage(),
    "usage_garbage": lambda reply: is_hello(reply) and reply.usage == TokenUsage(),
    "two_choices": is_hello,
    "extra_fields": is_hello,
    "empty": is_blank,
    "null_content": is_blank,
    "whitespace": is_blank,
    "truncated": lambda reply: reply.finish_reason == "length" and HELLO.startswith(reply.text),
    "refused": lambda reply: not reply.text and "can't assist" in reply.refusal,
    "content_filter": lambda reply: not reply.text and reply.finish_reason == "content_filter",
    "apology": lambda reply: "I'm sorry" in reply.text,
    "garbage": lambda reply: "\x1b[31m" in reply.text,
    "lone_surrogate": lambda reply: reply.text == f"? {HELLO}",
    "placeholder": lambda reply: "# rest of the code" in reply.text,
    "wrong_name": is_hello,
    "no_code": lambda reply: "waste no effort" in reply.text,
    "reasoning_only": lambda reply: not reply.text and reply.reasoning == HELLO,
    "think_tags": lambda reply: HELLO in reply.text and "not good enough" in reply.text + reply.reasoning,
    "huge": lambda reply: len(reply.text) == MAX_TEXT_CHARS,
    "syntax": lambda reply: reply.text == f"{HELLO}(",
    "raises": lambda reply: "raise ValueError" in reply.text,
    "nan": lambda reply: "np.nan" in reply.text,
    "echo_key_200": lambda reply: "I was asked" in reply.text,
}
"""Faults that are answers all the same, and how they are read."""

RAISED = {
    "401": (ModelError, "the server wants a key; --api-key-env names the variable"),
    "403": (ModelError, "this account may not use it"),
    "404": (ModelError, "there is no model"),
    "400": (ModelError, "refuses the request; the server says: Invalid request."),
    "insufficient_quota": (ModelUnavailableError, "has no quota left"),
}


class Line:
    """A server and a caller that are opened once, since that takes longer than a call."""

    def __init__(self, name):
        self._faults = []
        self.server = ChatServer(lambda body: HELLO, lambda number: self._faults.pop(0))
        self.caller = open_answerer(model_of(self.server, name))
        self._n_requests = 0

    def ask(self, *faults, request=REQUEST):
        """Ask while further requests meet these faults."""
        self._n_requests = len(self.server.requests)
        self._faults = [*faults, *[None] * 5]
        return self.caller.ask("key", request)

    @property
    def requests(self):
        """Those of the last call."""
        return self.server.requests[self._n_requests :]


@pytest.fixture(scope="module")
def lines():
    lines = {name: Line(name) for name in CLIENTS}
    with lines[SDK].server, lines[LITELLM].server:
        yield lines
        for line in lines.values():
            line.caller.close()


def serving(fault, *, always=False):
    return ChatServer(lambda body: HELLO, lambda number: fault if always or not number else None)


def both(faults):
    return [pytest.param(name, fault, id=f"{name}-{fault}") for name in CLIENTS for fault in faults]


def check_retried(outcome, kind):
    failed, succeeded = outcome.attempts
    assert (failed.fault, succeeded.fault) == (kind, None)
    assert is_one_line(failed.message)
    assert (outcome.fault, outcome.message) == (None, "")
    assert is_hello(outcome.reply)


@pytest.mark.parametrize(("name", "fault"), [key for key in RETRIED if key[1] not in SLOW])
def test_a_second_attempt_brings_the_answer_after(name, fault, lines):
    outcome = lines[name].ask(fault)
    assert len(lines[name].requests) == 2, "the client has retries of its own"
    check_retried(outcome, RETRIED[name, fault])


@pytest.mark.parametrize(("name", "fault"), both(SLOW))
def test_a_second_attempt_brings_the_answer_after_waiting_in_vain(name, fault):
    with serving(fault) as server:
        server.stall_s = 2.0
        outcome = ask(server, name, timeout_s=0.3)
        assert len(server.requests) == 2, "the client has retries of its own"
    check_retried(outcome, CallFault.TIMEOUT)


@pytest.mark.parametrize(("name", "fault"), both(("503", "dropped", "not_json", "message_null")))
def test_the_failure_is_told_where_no_attempt_is_left_after(name, fault, lines):
    outcome = lines[name].ask(fault, fault)
    assert len(lines[name].requests) == 2
    assert (outcome.reply, outcome.usd) == (None, None)
    assert outcome.fault == RETRIED[name, fault]
    assert is_one_line(outcome.message)


@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name in CLIENTS for fault in ANSWERED if (name, fault) not in RETRIED],
)
def test_one_request_brings_an_answer_despite(name, fault, lines):
    outcome = lines[name].ask(fault)
    assert len(lines[name].requests) == 1
    assert ANSWERED[fault](outcome.reply)
    assert [attempt.fault for attempt in outcome.attempts] == [None]


@pytest.mark.parametrize(("name", "fault"), both(REFUSALS))
def test_a_refused_parameter_is_left_out_after(name, fault):
    request = replace(REQUEST, temperature=0.5, schema={"type": "object"})
    with serving(fault, always=True) as server:
        outcome = ask(server, name, request)
        first, second = (received.body for received in server.requests)
    assert is_hello(outcome.reply)
    assert REFUSALS[fault] in first
    assert REFUSALS[fault] not in second
    assert [attempt.fault for attempt in outcome.attempts] == [CallFault.BAD_REQUEST, None]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_conversation_that_is_too_long_is_shortened(name, lines):
    outcome = lines[name].ask("context_length", "context_length", request=conversation(2))
    assert [len(received.body["messages"]) for received in lines[name].requests] == [6, 4, 2]
    assert is_hello(outcome.reply)


@pytest.mark.parametrize(("name", "fault"), both(RAISED))
def test_no_second_attempt_is_made_after(name, fault, lines):
    kind, part = RAISED[fault]
    with pytest.raises(kind) as raised:
        lines[name].ask(fault)
    assert len(lines[name].requests) == 1
    assert type(raised.value) is kind
    assert part in str(raised.value)
    assert is_one_line(str(raised.value))


def test_the_openai_sdk_within_litellm_does_not_retry_either():
    with serving("503", always=True) as server:
        ask(server, "lm_studio/m", attempts=1)
        assert len(server.requests) == 1


@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_that_is_not_there_is_a_failure_that_may_pass(name):
    with serving(None) as server:
        pass
    outcome = ask(server, name)
    assert outcome.fault in (CallFault.CONNECTION, CallFault.SERVER)
    assert len(outcome.attempts) == 2
    assert is_one_line(outcome.message)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_body_that_is_nested_too_deeply_is_malformed(name, fault, lines):
    outcome = lines[name].ask(fault(lambda exchange: exchange.send(b'{"a":' * 5_000)))
    assert is_hello(outcome.reply)
    assert outcome.attempts[0].fault in (CallFault.MALFORMED, CallFault.SERVER)


@pytest.mark.parametrize("name", CLIENTS)
def test_tokens_are_counted_as_the_server_counts_them(name, lines):
    usage = lines[name].ask().reply.usage
    assert usage.prompt > 10
    assert usage.completion == 1 + len(HELLO) // 4
    assert (usage.cached, usage.reasoning) == (0, 0)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_configurations_parameters_count_more_than_the_calls(name):
    own = {"temperature": 0.25, "top_p": 0.5}
    with serving(None) as server:
        outcome = ask(server, name, replace(REQUEST, temperature=1.0), parameters=own)
        assert is_hello(outcome.reply)
        assert own.items() <= server.requests[0].body.items()


def test_what_a_call_cost_is_taken_from_a_server_that_tells_it(lines):
    assert lines[SDK].ask("extra_fields").usd == 0.00014


def test_every_fault_has_its_place_here():
    context = {"context_length"}
    assert {fault for _, fault in RETRIED} | ANSWERED.keys() | REFUSALS.keys() | context == FAULTS.keys()
    assert RAISED.keys() == FATAL.keys()
    assert CAUSES.keys() == REFUSALS.keys() | context
