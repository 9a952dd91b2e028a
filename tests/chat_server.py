"""A loopback server that speaks OpenAI's chat-completions protocol, and fails in every way asked of it."""

import contextlib
import json
import random
import select
import socket
import socketserver
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says."""

    content: str | None
    reasoning: str | None = None
    """Sent as `reasoning_content`."""
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: dict[str, Any] | None = None
    """None: counted from the texts, four characters to a token."""
    n_choices: int = 1


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came in."""

    number: int | None
    """Counts the requests for a completion from 0; None for any other request."""
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any] | None
    """None where the body was no JSON object."""
    fault: str | None


class ChatServer:
    """Answers `POST /v1/chat/completions` on a free port of 127.0.0.1, from `with` until its end.

    Args:
        answer: gives the content of an honest answer to a request body; called from many threads.
        faults: the name of the fault, of `FAULTS` or `FATAL`, for each request number; None for no fault.
            A fault that the request gives no cause for (see `CAUSES`) counts as none.
    """

    def __init__(
        self,
        answer: Callable[[dict[str, Any]], Reply | str],
        faults: Callable[[int], str | None] | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.counts: Counter[str] = Counter()
        self.models = ["test-model"]
        self.stall_s = 30.0
        """How long the stalling faults last; set it above the client's limit."""
        self.errors: list[Exception] = []
        """What went wrong in `answer`, `faults` or here; the first is raised when the server closes."""
        self._answer = answer
        self._faults = faults or (lambda number: None)
        self._lock = threading.Lock()
        self._numbers = 0
        self._listener = _Listener(self)
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()
        if self.errors and error is None:
            raise self.errors[0]

    def close(self) -> None:
        """Stop, and end every connection at once; may be called again."""
        self._listener.shutdown()
        self._listener.hang_up()
        self._listener.server_close()
        self._thread.join()

    def receive(
        self, path: str, headers: dict[str, str], body: dict[str, Any] | None, is_chat: bool
    ) -> Received:
        """Note a request, and choose its fault."""
        with self._lock:
            number = fault = None
            if is_chat:
                number = self._numbers
                self._numbers += 1
                fault = self._faults(number)
                if fault in CAUSES and not CAUSES[fault](body or {}):
                    fault = None
            received = Received(number, path, headers, body, fault)
            self.requests.append(received)
            if fault is not None:
                self.counts[fault] += 1
            return received

    def reply_to(self, body: dict[str, Any]) -> Reply:
        """The honest answer."""
        answer = self._answer(body)
        return Reply(answer) if isinstance(answer, str) else answer


class _Listener(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, owner: ChatServer) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would ask a name server for our name, which can take seconds
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.owner.errors.append(error)

    def hang_up(self) -> None:
        """End every connection, and wait a little for the threads that serve them."""
        with self._changed:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(lambda: not self._open, timeout=0.5)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(length)
        if len(raw) < length:
            self.close_connection = True
            return
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._serve(body if isinstance(body, dict) else None)

    def _serve(self, body: dict[str, Any] | None) -> None:
        owner = self.server.owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_chat = (self.command, self.path) == ("POST", "/v1/chat/completions")
        exchange = Exchange(self, body or {}, headers)
        try:
            received = owner.receive(self.path, headers, body, is_chat)
            exchange.number = received.number or 0
            if is_chat and body is not None:
                respond = _honest if received.fault is None else (FAULTS | FATAL)[received.fault]
                respond(exchange)
            elif is_chat:
                exchange.send(_error("The request body is not a JSON object."), 400)
            elif (self.command, self.path) == ("GET", "/v1/models"):
                models = [{"id": name, "object": "model", "owned_by": "tests"} for name in owner.models]
                exchange.send({"object": "list", "data": models})
            else:
                exchange.send(_error(f"Unknown request URL: {self.command} {self.path}"), 404)
        except OSError:
            self.close_connection = True
        except Exception as error:
            owner.errors.append(error)
            with contextlib.suppress(OSError):
                exchange.send(_error(f"the test server failed: {error!r}"), 500)


class Exchange:
    """One request for a completion, and the means to answer it."""

    def __init__(self, handler: _Handler, body: dict[str, Any], headers: dict[str, str]) -> None:
        self.number = 0
        self.body = body
        self.headers = headers
        self.stall_s = handler.server.owner.stall_s
        self._handler = handler

    @property
    def authorization(self) -> str:
        return self.headers.get("authorization", "")

    @property
    def key(self) -> str:
        return self.authorization.removeprefix("Bearer ")

    def reply(self) -> Reply:
        """The honest answer."""
        return self._handler.server.owner.reply_to(self.body)

    def completion(self, reply: Reply) -> dict[str, Any]:
        message = {"role": "assistant", "content": reply.content}
        if reply.reasoning is not None:
            message["reasoning_content"] = reply.reasoning
        if reply.refusal is not None:
            message["refusal"] = reply.refusal
        return {
            "id": f"chatcmpl-{self.number}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.body.get("model"),
            "choices": [
                {"index": i, "message": dict(message), "finish_reason": reply.finish_reason}
                for i in range(reply.n_choices)
            ],
            "usage": self._usage(reply) if reply.usage is None else reply.usage,
        }

    def _usage(self, reply: Reply) -> dict[str, Any]:
        prompt = 1 + len(json.dumps(self.body.get("messages"))) // 4
        reasoning = len(reply.reasoning or "") // 4
        completion = (1 + len(reply.content or "") // 4) * reply.n_choices + reasoning
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            # OpenAI caches prompts of 1,024 tokens or more, in steps of 128
            "prompt_tokens_details": {"cached_tokens": prompt // 128 * 128 if prompt >= 1024 else 0},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }

    def send(
        self,
        payload: Any,
        status: int = 200,
        headers: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> None:
        """Answer with bytes as they are, or with anything else as JSON."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        length = {"Content-Length": str(len(data))}
        self.write(head(status, content_type, length | (headers or {})) + data)

    def write(self, data: bytes) -> None:
        self._handler.connection.sendall(data)

    def client_left(self, within_s: float) -> bool:
        """Wait so long for the end of the connection, by either side."""
        poll = select.poll()
        poll.register(self._handler.connection, select.POLLIN)
        return bool(poll.poll(within_s * 1000))

    def close(self, reset: bool = False) -> None:
        self._handler.close_connection = True
        if reset:
            linger = struct.pack("ii", 1, 0)
            self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            # the socket stays open as long as a file made of it does
            self._handler.rfile.close()
            self._handler.connection.close()


def head(status: int, content_type: str, headers: dict[str, str]) -> bytes:
    """The status line and the headers of a response, with the blank line after them."""
    known = status in set(HTTPStatus)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if known else 'Unknown'}"]
    lines += [f"{name}: {value}" for name, value in ({"Content-Type": content_type} | headers).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


Fault = Callable[[Exchange], None]


def _honest(exchange: Exchange) -> None:
    exchange.send(exchange.completion(exchange.reply()))


def _error(
    message: str, kind: str = "invalid_request_error", param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


# HTTP


def _refusing(
    status: int,
    message: str,
    kind: str,
    headers: Callable[[], dict[str, str]] = dict,
    code: str | None = None,
) -> Fault:
    def respond(exchange: Exchange) -> None:
        exchange.send(_error(message, kind, code=code), status, headers())

    return respond


def _busy(headers: Callable[[], dict[str, str]]) -> Fault:
    message = "Rate limit reached for requests per minute. Please try again later."
    return _refusing(429, message, "requests", headers, "rate_limit_exceeded")


def _html(status: int) -> Fault:
    page = (
        b"<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head><body><h1>nginx</h1></body></html>\n"
    )

    def respond(exchange: Exchange) -> None:
        exchange.send(page, status, content_type="text/html; charset=utf-8")

    return respond


def _echo_key(exchange: Exchange) -> None:
    said = f"Internal error in a request with Authorization: {exchange.authorization}"
    exchange.send(exchange.completion(Reply(said)) | _error(said, "server_error"), 500)


HTTP: dict[str, Fault] = {
    "429": _busy(lambda: {"Retry-After": "0"}),
    "429_date": _busy(lambda: {"Retry-After": formatdate(usegmt=True)}),
    "429_no_header": _busy(dict),
    "429_ms": _busy(lambda: {"retry-after-ms": "1"}),
    "500": _refusing(500, "The server had an error while processing your request.", "server_error"),
    "502_html": _html(502),
    "503": _refusing(503, "The engine is currently overloaded, please try again later.", "server_error"),
    "408": _refusing(408, "Request timed out.", "timeout"),
    "529": _refusing(529, "Overloaded", "overloaded_error"),
    "echo_key": _echo_key,
}


# the connection


def _timeout(exchange: Exchange) -> None:
    exchange.client_left(exchange.stall_s)
    exchange.close()


def _drip(exchange: Exchange) -> None:
    # blanks may stand before a JSON value: a valid body that never ends
    exchange.write(head(200, "application/json", {"Content-Length": "10000000"}))
    ends = time.monotonic() + exchange.stall_s
    while time.monotonic() < ends and not exchange.client_left(0.05):
        exchange.write(b" ")
    exchange.close()


def _half_body(exchange: Exchange) -> None:
    data = json.dumps(exchange.completion(exchange.reply())).encode()
    exchange.write(head(200, "application/json", {"Content-Length": str(len(data))}) + data[: len(data) // 2])
    exchange.close()


def _bad_chunk(exchange: Exchange) -> None:
    exchange.write(
        head(200, "application/json", {"Transfer-Encoding": "chunked"}) + b'zz\r\n{"id"\r\n0\r\n\r\n'
    )
    exchange.close()


TRANSPORT: dict[str, Fault] = {
    "timeout": _timeout,
    "drip": _drip,
    "dropped": lambda exchange: exchange.close(),
    "reset": lambda exchange: exchange.close(reset=True),
    "half_body": _half_body,
    "bad_chunk": _bad_chunk,
}


# the body


def _body(payload: Any) -> Fault:
    return lambda exchange: exchange.send(payload)


def _altered(alter: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    return lambda exchange: exchange.send(alter(exchange.completion(exchange.reply())))


def _without(completion: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in completion.items() if key != name}


def _two_choices(exchange: Exchange) -> None:
    completion = exchange.completion(exchange.reply())
    message = {"role": "assistant", "content": _noise(exchange.number)}
    completion["choices"].append({"index": 1, "message": message, "finish_reason": "stop"})
    exchange.send(completion)


def _extra_fields(completion: dict[str, Any]) -> dict[str, Any]:
    choice, *_ = completion["choices"]
    extra = {"x_new": {"deep": [1, None, {"a": "b"}]}, "x_list": [], "x_null": None}
    choice["message"] |= extra | {
        "annotations": [],
        "audio": None,
        "tool_calls": None,
        "thinking_blocks": None,
    }
    choice |= extra | {"native_finish_reason": "STOP", "logprobs": None, "stop_reason": 128009}
    completion["usage"] |= extra | {"cost": 0.00014, "is_byok": False}
    return completion | extra | {"provider": "Somebody", "system_fingerprint": None, "timings": {"ms": 1.5}}


_USAGE_GARBAGE = {
    "prompt_tokens": "twelve",
    "completion_tokens": -5,
    "total_tokens": None,
    "prompt_tokens_details": {"cached_tokens": "many"},
    "completion_tokens_details": {"reasoning_tokens": -1.5},
}

BODY: dict[str, Fault] = {
    "not_json": _body(b'{"id": "chatcmpl-1", "object": "chat.completion", "choices": ['),
    "html_200": _html(200),
    "empty_body": _body(b""),
    "json_list": _body([]),
    "binary": _body(b'{"id": "chatcmpl-1", "choices": [{"message": {"content": "\xff\xfe\x80"}}]}'),
    "no_choices": _altered(lambda completion: _without(completion, "choices")),
    "choices_null": _altered(lambda completion: completion | {"choices": None}),
    "choices_empty": _altered(lambda completion: completion | {"choices": []}),
    "error_200": _body({"error": {"message": "Provider returned error", "code": 502}}),
    "message_null": _altered(
        lambda completion: completion | {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}
    ),
    "no_usage": _altered(lambda completion: _without(completion, "usage")),
    "usage_garbage": _altered(lambda completion: completion | {"usage": _USAGE_GARBAGE}),
    "two_choices": _two_choices,
    "extra_fields": _altered(_extra_fields),
}


# the content


def _instead(content: str | None, **fields: Any) -> Fault:
    return lambda exchange: exchange.send(exchange.completion(Reply(content, **fields)))


def _changed(change: Callable[[str], str], **fields: Any) -> Fault:
    def respond(exchange: Exchange) -> None:
        reply = exchange.reply()
        changed = replace(reply, content=change(reply.content or ""), **fields)
        exchange.send(exchange.completion(changed))

    return respond


def _reasoning_only(exchange: Exchange) -> None:
    reply = exchange.reply()
    exchange.send(exchange.completion(replace(reply, content="", reasoning=reply.content)))


def _noise(seed: int) -> str:
    draw = random.Random(seed)
    # control characters, Latin, combining marks, right-to-left text and overrides, CJK, private use, emoji
    ranges = [(0, 32), (33, 0x250), (0x300, 0x370), (0x590, 0x700), (0x2000, 0x2070), (0x4E00, 0x9FFF)]
    ranges += [(0xE000, 0xF8FF), (0x1F300, 0x1FAFF)]
    return "\x00\x1b[31m\x7f\U0001f600" + "".join(
        chr(draw.randrange(*draw.choice(ranges))) for _ in range(400)
    )


def _without_a_bracket(content: str) -> str:
    """Remove the last closing bracket before the end of the last fence, or of the text."""
    end = content.rfind("```")
    last = max(content.rfind(bracket, 0, end if end > 0 else len(content)) for bracket in ")]}")
    return content[:last] + content[last + 1 :] if last >= 0 else content + "("


def _code(*lines: str) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"```python\ndef compute_reward(state, action, next_state):\n{body}\n```\n"


_PROSE = "The reward should make the agent move towards the goal and waste no effort on the way. "
_DRAFT = _code("return 0.0 * action[:, 0], {}")

CONTENT: dict[str, Fault] = {
    "empty": _instead(""),
    "null_content": _instead(None),
    "whitespace": _instead(" \n\t\r\n "),
    "truncated": _changed(lambda content: content[: len(content) // 2], finish_reason="length"),
    "refused": _instead(None, refusal="I'm sorry, but I can't assist with that request."),
    "content_filter": _instead("", finish_reason="content_filter"),
    "apology": _instead("I'm sorry, but I can't help with writing a reward function for this task."),
    "garbage": lambda exchange: exchange.send(exchange.completion(Reply(_noise(exchange.number)))),
    # half of an emoji, as where a token limit or a byte-wise tokenizer cuts it: valid JSON, no valid UTF-8
    "lone_surrogate": _changed(lambda content: f"\ud83d {content}"),
    "placeholder": _instead(_code("total = 0.0 * action[:, 0]", "# rest of the code", "return total, {}")),
    "wrong_name": _changed(lambda content: content.replace("compute_reward", "reward_function")),
    "no_code": _instead(_PROSE * 3),
    "reasoning_only": _reasoning_only,
    "think_tags": _changed(
        lambda content: f"<think>\nA first try, not good enough:\n{_DRAFT}</think>\n\n{content}"
    ),
    "huge": _instead(_PROSE * (2_000_000 // len(_PROSE) + 1)),
    "syntax": _changed(_without_a_bracket),
    "raises": _instead(_code('raise ValueError("no reward for this state")')),
    "nan": _instead(_code("return np.full(action.shape[0], np.nan), {}")),
    "echo_key_200": lambda exchange: exchange.send(
        exchange.completion(Reply(f"I was asked with the header Authorization: {exchange.authorization}"))
    ),
}


# what the request must not ask for


def _bad_request(
    message: Callable[[dict[str, Any]], str],
    param: str | None = None,
    code: str | None = None,
    status: int = 400,
) -> Fault:
    def respond(exchange: Exchange) -> None:
        exchange.send(_error(message(exchange.body), param=param, code=code), status)

    return respond


UNSUPPORTED: dict[str, Fault] = {
    "unsupported_temperature": _bad_request(
        lambda body: (
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model."
        ),
        "temperature",
        "unsupported_value",
    ),
    "unsupported_max_tokens": _bad_request(
        lambda body: (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead."
        ),
        "max_tokens",
        "unsupported_parameter",
    ),
    "unsupported_schema": _bad_request(
        lambda body: (
            f"Invalid parameter: 'response_format' of type '{body['response_format'].get('type')}' "
            "is not supported with this model."
        ),
        "response_format",
    ),
    "context_length": _bad_request(
        lambda body: (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in "
            "9000 tokens. Please reduce the length of the messages."
        ),
        "messages",
        "context_length_exceeded",
    ),
}

CAUSES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "unsupported_temperature": lambda body: "temperature" in body,
    "unsupported_max_tokens": lambda body: "max_tokens" in body,
    "unsupported_schema": lambda body: "response_format" in body,
    "context_length": lambda body: len(body.get("messages", ())) > 2,
}
"""Faults that only some requests meet, and which; other requests get an honest answer."""

FAULTS: dict[str, Fault] = HTTP | TRANSPORT | BODY | CONTENT | UNSUPPORTED
"""Faults that a run should live through."""


def _wrong_key(exchange: Exchange) -> None:
    shown = f"{exchange.key[:8]}{'*' * 12}{exchange.key[-4:]}"
    message = f"Incorrect API key provided: {shown}. You can find your API key in your account's settings."
    exchange.send(_error(message, code="invalid_api_key"), 401)


FATAL: dict[str, Fault] = {
    "401": _wrong_key,
    "403": _refusing(
        403,
        "Country, region, or territory not supported",
        "request_forbidden",
        code="unsupported_country_region_territory",
    ),
    "404": _bad_request(
        lambda body: f"The model `{body.get('model')}` does not exist or you do not have access to it.",
        code="model_not_found",
        status=404,
    ),
    "400": _bad_request(lambda body: "Invalid request."),
    "insufficient_quota": _refusing(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        code="insufficient_quota",
    ),
}
"""Faults that no other try can mend."""
