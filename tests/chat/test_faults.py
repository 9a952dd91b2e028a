"""What kind of failure the SDKs' errors are."""

import pytest

from rewardsmith.services.chat.base import CallFault
from rewardsmith.services.chat.faults import call_error


class StatusError(Exception):
    """Has what the errors of both SDKs have in common."""

    def __init__(self, text, status=None, body=None):
        super().__init__(text)
        self.status_code, self.body = status, body


class Timeout(StatusError):  # noqa: N818  # noqa: N818  (the name is LiteLLM's)
    """LiteLLM's is called so, and has a status of its own making."""


@pytest.mark.parametrize(
    ("status", "text", "fault"),
    [
        (400, "", CallFault.BAD_REQUEST),
        (400, "Your credit balance is too low to access the API.", CallFault.QUOTA),
        (400, "the request exceeds the available context size", CallFault.CONTEXT_LENGTH),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", CallFault.CONTEXT_LENGTH),
        (400, "This model's maximum context length is 8192 tokens", CallFault.CONTEXT_LENGTH),
        (402, "Insufficient Balance", CallFault.QUOTA),
        (409, "", CallFault.SERVER),
        (422, "", CallFault.BAD_REQUEST),
        (429, "", CallFault.RATE_LIMIT),
        (429, "You exceeded your current quota for requests per minute", CallFault.RATE_LIMIT),
        (429, "insufficient_quota", CallFault.QUOTA),
        (418, "", CallFault.BAD_REQUEST),
        (599, "", CallFault.SERVER),
        (302, "", CallFault.MALFORMED),
        (None, "", CallFault.MALFORMED),
    ],
)
def test_a_status_and_a_text_make_a_fault(status, text, fault):
    assert call_error(StatusError(text, status)).fault == fault


def test_a_timeout_is_one_whatever_its_status():
    assert call_error(Timeout("late", 500)).fault == CallFault.TIMEOUT
    assert call_error(TimeoutError()).fault == CallFault.TIMEOUT


@pytest.mark.parametrize(
    ("text", "body", "message"),
    [
        ("Error code: 400", {"error": {"message": "No such field."}}, "No such field."),
        ("Error code: 400", {"message": "No such field.", "code": 7}, "No such field."),
        ('Vendor - {"error": {"message": "No such field."}} and more', None, "No such field."),
        ("<style>p { margin: 0 }</style>", "<html>", "<style>p { margin: 0 }</style>"),
        ('{"error": "model not found"}', None, '{"error": "model not found"}'),
        ('{"a":' * 5_000, None, '{"a":' * 800),
        ("Odd. Traceback (most recent call last):\n  File x.py", None, "Odd. "),
        ("", None, "StatusError"),
    ],
)
def test_the_message_is_what_the_server_says(text, body, message):
    assert call_error(StatusError(text, 400, body)).message == message


@pytest.mark.parametrize(
    ("param", "text", "parameter"),
    [
        ("temperature", "max_tokens is fine", "temperature"),
        (None, "'max_tokens' is not supported, use 'max_completion_tokens'", "max_tokens"),
        (None, "max_completion_tokens: unknown field, did you mean max_tokens?", "max_completion_tokens"),
        (None, "Invalid JSON_SCHEMA: too deep", "schema"),
        (None, "m has no vision", "images"),
        ("messages", "Invalid request.", None),
    ],
)
def test_the_refused_parameter_is_the_one_that_is_named_first(param, text, parameter):
    body = {"error": {"message": text, "param": param}}
    assert call_error(StatusError("", 400, body)).parameter == parameter
    assert call_error(StatusError("", 500, body)).parameter is None
