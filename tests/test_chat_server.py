import contextlib
import http.client
import itertools
import json
import socket
import struct
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import pytest

from chat_server import (
    BODY,
    CAUSES,
    CONTENT,
    FATAL,
    FAULTS,
    HTTP,
    TRANSPORT,
    UNSUPPORTED,
    ChatServer,
    Reply,
)

HONEST = """Here it is (first version).
```python
def compute_reward(state, action, next_state):
    speed = np.abs(state.speed)
    return speed, {"speed": speed}
```
I hope it helps :)
"""
KEY = "sk-test-0123456789abcdef"
BODY_SENT = {"model": "m", "messages": [{"role": "user", "content": "Write a reward."}]}


@dataclass(frozen=True)
class Seen:
    status: int
    headers: http.client.HTTPMessage
    data: bytes

    @property
    def json(self):
        return json.loads(self.data)

    @property
    def error(self):
        return self.json["error"]

    @property
    def choice(self):
        return self.json["choices"][0]

    @property
    def content(self):
        return self.choice["message"]["content"]


def serving(fault=None, answer=HONEST):
    """A server with the same fault in every answer."""
    return ChatServer(lambda body: answer, lambda number: fault)


@contextlib.contextmanager
def connected(server, timeout=5.0):
    connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=timeout)
    try:
        yield connection
    finally:
        connection.close()


def port_of(server):
    return int(server.base_url.removesuffix("/v1").rpartition(":")[2])


def post(connection, body=BODY_SENT, path="/v1/chat/completions"):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    return Seen(response.status, response.headers, response.read())


def ask(server, body=BODY_SENT, timeout=5.0):
    with connected(server, timeout) as connection:
        return post(connection, body)


def raw_request(body=BODY_SENT):
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


@contextlib.contextmanager
def raw_connection(server, timeout=5.0):
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout) as sock:
        yield sock


def wait_for(condition):
    ends = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_an_honest_answer_is_a_whole_completion():
    with serving() as server:
        seen = ask(server)
    assert (seen.status, seen.content, seen.choice["finish_reason"]) == (200, HONEST, "stop")
    assert (seen.json["object"], seen.json["model"]) == ("chat.completion", "m")
    usage = seen.json["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0}
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 0}


def test_a_long_prompt_counts_as_partly_cached():
    body = {"messages": [{"role": "user", "content": "x" * 8000}]}
    with serving() as server:
        usage = ask(server, body).json["usage"]
    assert 1024 <= usage["prompt_tokens_details"]["cached_tokens"] <= usage["prompt_tokens"]


def test_a_reply_decides_every_part_of_the_answer():
    reply = Reply("x", "thoughts", "length", "no", {"total_tokens": 3}, n_choices=2)
    with serving(answer=reply) as server:
        seen = ask(server).json
    message = {"role": "assistant", "content": "x", "reasoning_content": "thoughts", "refusal": "no"}
    assert [choice["message"] for choice in seen["choices"]] == [message, message]
    assert [choice["index"] for choice in seen["choices"]] == [0, 1]
    assert {choice["finish_reason"] for choice in seen["choices"]} == {"length"}
    assert seen["usage"] == {"total_tokens": 3}


def test_the_answer_is_chosen_by_the_request():
    with ChatServer(lambda body: body["messages"][-1]["content"]) as server:
        assert ask(server).content == "Write a reward."


def test_every_request_is_kept_with_its_fault():
    with ChatServer(lambda body: HONEST, {1: "500"}.get) as server:
        assert [ask(server).status for _ in range(3)] == [200, 500, 200]
        assert [(r.number, r.fault) for r in server.requests] == [(0, None), (1, "500"), (2, None)]
        assert server.requests[1].path == "/v1/chat/completions"
        assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"
        assert server.requests[1].body == BODY_SENT
        assert server.counts == Counter({"500": 1})


def test_models_are_listed_and_take_no_number():
    with serving("500") as server, connected(server) as connection:
        connection.request("GET", "/v1/models")
        answer = json.load(connection.getresponse())
        assert [model["id"] for model in answer["data"]] == server.models
        assert [(r.path, r.number, r.fault) for r in server.requests] == [("/v1/models", None, None)]
        assert ask(server).status == 500
        assert server.requests[-1].number == 0


def test_other_paths_are_not_found():
    with serving() as server, connected(server) as connection:
        seen = post(connection, path="/v1/completions")
    assert seen.status == 404
    assert "/v1/completions" in seen.error["message"]


def test_a_body_that_is_no_json_object_is_a_bad_request():
    with serving() as server:
        assert ask(server, ["a list"]).status == 400
        assert server.requests[0].body is None


# Faults

STATUS = {
    "429": 429,
    "429_date": 429,
    "429_no_header": 429,
    "429_ms": 429,
    "500": 500,
    "502_html": 502,
    "503": 503,
    "408": 408,
    "529": 529,
    "echo_key": 500,
}


@pytest.mark.parametrize("name", HTTP)
def test_http_fault(name):
    with serving(name) as server:
        seen = ask(server)
    assert seen.status == STATUS[name]
    if name == "502_html":
        assert (seen.headers.get_content_type(), seen.data[:15]) == ("text/html", b"<!DOCTYPE html>")
    else:
        assert seen.error["message"]


def test_retry_after_comes_in_every_form():
    with ChatServer(
        lambda body: HONEST, ["429", "429_date", "429_ms", "429_no_header"].__getitem__
    ) as server:
        seconds, date, milliseconds, none = (ask(server).headers for _ in range(4))
    assert seconds["Retry-After"] == "0"
    assert abs(parsedate_to_datetime(date["Retry-After"]).timestamp() - time.time()) < 5
    assert (milliseconds["retry-after-ms"], milliseconds["Retry-After"]) == ("1", None)
    assert (none["retry-after-ms"], none["Retry-After"]) == (None, None)


def test_the_key_is_echoed_in_an_error_and_in_an_answer():
    with ChatServer(lambda body: HONEST, ["echo_key", "echo_key_200"].__getitem__) as server:
        error, answer = ask(server), ask(server)
    assert f"Bearer {KEY}" in error.error["message"]
    assert f"Bearer {KEY}" in error.content
    assert (answer.status, f"Bearer {KEY}" in answer.content) == (200, True)


def test_a_dropped_connection_ends_without_a_byte():
    with serving("dropped") as server, raw_connection(server) as sock:
        sock.sendall(raw_request())
        assert sock.recv(1) == b""


def test_a_reset_connection_is_an_error():
    with serving("reset") as server, raw_connection(server) as sock:
        sock.sendall(raw_request())
        with pytest.raises(ConnectionResetError):
            sock.recv(1)


def test_a_timeout_is_silence_and_then_the_end():
    with serving("timeout") as server, raw_connection(server) as sock:
        server.stall_s = 0.4
        sock.sendall(raw_request())
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        sock.settimeout(5.0)
        assert sock.recv(1) == b""


def test_a_drip_never_ends_and_is_never_silent():
    with serving("drip") as server, raw_connection(server, timeout=1.0) as sock:
        server.stall_s = 0.6
        sock.sendall(raw_request())
        starts = time.monotonic()
        pieces = list(iter(lambda: sock.recv(65536), b""))
        took = time.monotonic() - starts
    head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert 0.5 < took < 3.0
    assert 3 <= len(body) <= 13
    assert len(pieces) >= 4


def test_half_a_body_is_less_than_was_promised():
    with serving("half_body") as server, pytest.raises(http.client.IncompleteRead) as caught:
        ask(server)
    assert caught.value.partial.startswith(b'{"id"')
    assert caught.value.expected > 0


def test_a_bad_chunk_cannot_be_read():
    with serving("bad_chunk") as server, pytest.raises(http.client.IncompleteRead):
        ask(server)


def fails_to_parse(data):
    with pytest.raises(ValueError):  # noqa: PT011  (either a JSON or a Unicode error)
        json.loads(data)
    return True


BODIES = {
    "not_json": lambda seen: fails_to_parse(seen.data) and seen.data.startswith(b"{"),
    "html_200": lambda seen: seen.headers.get_content_type() == "text/html" and b"<html>" in seen.data,
    "empty_body": lambda seen: seen.data == b"",
    "json_list": lambda seen: seen.json == [],
    "binary": lambda seen: fails_to_parse(seen.data) and b"\xff\xfe" in seen.data,
    "no_choices": lambda seen: "choices" not in seen.json,
    "choices_null": lambda seen: seen.json["choices"] is None,
    "choices_empty": lambda seen: seen.json["choices"] == [],
    "error_200": lambda seen: seen.error["message"] and "choices" not in seen.json,
    "message_null": lambda seen: seen.choice["message"] is None,
    "no_usage": lambda seen: "usage" not in seen.json and seen.content == HONEST,
    "usage_garbage": lambda seen: (
        (seen.json["usage"]["prompt_tokens"], seen.json["usage"]["total_tokens"]) == ("twelve", None)
        and seen.json["usage"]["completion_tokens"] < 0
        and seen.content == HONEST
    ),
    "two_choices": lambda seen: (
        seen.content == HONEST
        and len(seen.json["choices"]) == 2
        and "compute_reward" not in seen.json["choices"][1]["message"]["content"]
    ),
    "extra_fields": lambda seen: (
        seen.content == HONEST
        and all(
            "x_new" in part for part in (seen.json, seen.choice, seen.choice["message"], seen.json["usage"])
        )
    ),
}

CONTENTS = {
    "empty": lambda seen: seen.content == "",
    "null_content": lambda seen: seen.content is None,
    "whitespace": lambda seen: seen.content != "" and seen.content.isspace(),
    "truncated": lambda seen: (
        seen.choice["finish_reason"] == "length"
        and HONEST.startswith(seen.content)
        and seen.content != HONEST
    ),
    "refused": lambda seen: seen.content is None and seen.choice["message"]["refusal"],
    "content_filter": lambda seen: (seen.content, seen.choice["finish_reason"]) == ("", "content_filter"),
    "apology": lambda seen: seen.content.startswith("I'm sorry"),
    "garbage": lambda seen: (
        b"\\u0000" in seen.data and "\U0001f600" in seen.content and "\x1b" in seen.content
    ),
    "lone_surrogate": lambda seen: seen.content == f"\ud83d {HONEST}",
    "placeholder": lambda seen: "# rest of the code" in seen.content,
    "wrong_name": lambda seen: (
        "def reward_function(" in seen.content and "compute_reward" not in seen.content
    ),
    "no_code": lambda seen: seen.content and "def " not in seen.content and "```" not in seen.content,
    "reasoning_only": lambda seen: (
        seen.content == ""
        and seen.choice["message"]["reasoning_content"] == HONEST
        and seen.json["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
    ),
    "think_tags": lambda seen: seen.content.startswith("<think>") and seen.content.endswith(HONEST),
    "huge": lambda seen: len(seen.content) >= 2_000_000,
    "syntax": lambda seen: seen.content == HONEST.replace("speed}", "speed"),
    "raises": lambda seen: "    raise ValueError" in code_of(seen),
    "nan": lambda seen: "np.nan" in code_of(seen),
    "echo_key_200": lambda seen: KEY in seen.content,
}


def code_of(seen):
    code = seen.content.split("```python\n")[1].split("```")[0]
    compile(code, "answer", "exec")
    return code


@pytest.mark.parametrize("name", BODY | CONTENT)
def test_fault_in_an_answer_of_status_200(name):
    with serving(name) as server:
        seen = ask(server)
    assert seen.status == 200
    assert (BODIES | CONTENTS)[name](seen)


LONG = [{"role": "user", "content": "x"}] * 3
REQUESTS = {
    "unsupported_temperature": ({"temperature": 0.7}, "temperature", "unsupported_value"),
    "unsupported_max_tokens": ({"max_tokens": 9}, "max_tokens", "unsupported_parameter"),
    "unsupported_schema": ({"response_format": {"type": "json_schema"}}, "response_format", None),
    "context_length": ({"messages": LONG}, "messages", "context_length_exceeded"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_only_a_request_that_gives_cause_is_refused(name):
    cause, param, code = REQUESTS[name]
    with serving(name) as server:
        assert ask(server).content == HONEST
        assert (server.requests[0].fault, server.counts) == (None, Counter())
        seen = ask(server, BODY_SENT | cause)
        assert (server.requests[1].fault, server.counts) == (name, Counter({name: 1}))
    assert (seen.status, seen.error["param"], seen.error["code"]) == (400, param, code)
    assert param in seen.error["message"]


FATAL_CODES = {
    "401": (401, "invalid_api_key"),
    "403": (403, "unsupported_country_region_territory"),
    "404": (404, "model_not_found"),
    "400": (400, None),
    "insufficient_quota": (429, "insufficient_quota"),
}


@pytest.mark.parametrize("name", FATAL)
def test_fatal_fault(name):
    with serving(name) as server:
        seen = ask(server)
    assert (seen.status, seen.error["code"]) == FATAL_CODES[name]


def test_a_wrong_key_is_shown_in_part():
    with serving("401") as server:
        message = ask(server).error["message"]
    assert KEY not in message
    assert KEY[:8] in message
    assert KEY[-4:] in message


def test_the_groups_hold_every_fault_once():
    groups = [HTTP, TRANSPORT, BODY, CONTENT, UNSUPPORTED]
    assert sorted(itertools.chain(*groups)) == sorted(FAULTS)
    assert not FATAL.keys() & FAULTS.keys()
    assert CAUSES.keys() == UNSUPPORTED.keys()
    tested = {"dropped", "reset", "timeout", "drip", "half_body", "bad_chunk"}
    assert tested | STATUS.keys() | BODIES.keys() | CONTENTS.keys() | REQUESTS.keys() == FAULTS.keys()


# The server as such


@pytest.mark.parametrize("fault", ["timeout", "drip"])
def test_closing_does_not_wait_for_stalled_requests(fault):
    threads = threading.active_count()
    with serving(fault) as server, contextlib.ExitStack() as clients:
        for _ in range(4):
            clients.enter_context(raw_connection(server)).sendall(raw_request())
        wait_for(lambda: len(server.requests) == 4)
        starts = time.monotonic()
        server.close()
        assert time.monotonic() - starts < 1.0
        wait_for(lambda: threading.active_count() == threads)


def test_closing_does_not_wait_for_idle_connections():
    with serving() as server, connected(server) as connection:
        post(connection)
        starts = time.monotonic()
        server.close()
        assert time.monotonic() - starts < 1.0


def test_parallel_requests_are_answered_at_once():
    together = threading.Barrier(16, timeout=10)

    def answer(body):
        together.wait()
        return body["messages"][0]["content"]

    def question(i):
        return {"messages": [{"role": "user", "content": str(i)}]}

    with ChatServer(answer) as server, ThreadPoolExecutor(16) as pool:
        seen = list(pool.map(lambda i: ask(server, question(i)).content, range(16)))
        assert seen == [str(i) for i in range(16)]
        assert sorted(r.number for r in server.requests) == list(range(16))


def test_requests_on_one_connection_do_not_stall():
    with serving() as server, connected(server) as connection:
        starts = time.monotonic()
        for _ in range(50):
            assert post(connection).status == 200
        # a delayed acknowledgement costs 40 ms each
        assert time.monotonic() - starts < 1.5


def test_a_client_that_leaves_ends_its_stall():
    threads = threading.active_count()
    with serving("timeout") as server:
        with raw_connection(server) as sock:
            sock.sendall(raw_request())
            wait_for(lambda: server.requests)
        wait_for(lambda: threading.active_count() == threads + 1)


@pytest.mark.parametrize("hard", [False, True])
def test_clients_may_leave_at_any_moment(hard, capfd):
    request = raw_request()
    head_ends = request.index(b"{")
    fault = "huge"
    with ChatServer(lambda body: HONEST, lambda number: fault) as server:
        for cut in [0, 1, 20, head_ends - 1, head_ends, len(request) - 1, len(request), len(request)]:
            with raw_connection(server) as sock:
                if hard:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.sendall(request[:cut])
                time.sleep(0.02)
        fault = None
        assert ask(server).content == HONEST
        assert all(received.body == BODY_SENT for received in server.requests)
    assert capfd.readouterr() == ("", "")


def test_a_fault_of_the_test_itself_comes_out_at_the_end():
    def answer(body):
        raise LookupError("nothing left to say")

    def run():
        with ChatServer(answer) as server:
            seen = ask(server)
            assert seen.status == 500
            assert "nothing left to say" in seen.error["message"]

    with pytest.raises(LookupError, match="nothing left"):
        run()


def test_an_unknown_fault_comes_out_at_the_end():
    def run():
        with serving("no_such_fault") as server:
            ask(server)

    with pytest.raises(KeyError, match="no_such_fault"):
        run()
