"""From what the SDKs raise to a kind of failure: LiteLLM's errors are subclasses of OpenAI's."""

import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from rewardsmith.services.chat.base import CallError, CallFault

_MAX_CHARS = 4000
"""More than is ever shown: a message is cut to size once no secret is in it any more."""
_PARAMETERS: tuple[tuple[str, str], ...] = (
    ("max_completion_tokens", "max_completion_tokens"),
    ("max_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("response_format", "schema"),
    ("json_schema", "schema"),
    ("structured output", "schema"),
    ("image", "images"),
    ("vision", "images"),
    ("multimodal", "images"),
)
"""What refusals call a parameter, and the quirk that it makes."""
_CONTEXT = re.compile(
    r"(?i)context.{0,20}(length|window|size)|maximum context|too many tokens|prompt is too long"
)
_NO_CREDIT = re.compile(r"(?i)insufficient_quota|credit balance is too low")
_FILTERED = re.compile(r"(?i)content.?(filter|policy)|content management policy")


def call_error(error: Exception) -> CallError:
    """Return the typed form of what a client raised.

    Reads what both SDKs have in common, and what LiteLLM puts in other places.
    """
    found = getattr(error, "status_code", None)
    status = found if isinstance(found, int) else None
    details = _details(error)
    # LiteLLM adds a traceback to what it did not foresee.
    text = str(details.get("message") or error).partition("Traceback (most recent")[0] or type(error).__name__
    code = f"{details.get('code') or getattr(error, 'code', '') or ''} {details.get('type') or ''}"
    fault = _fault(error, status, code, text)
    may_wait = fault in (CallFault.RATE_LIMIT, CallFault.SERVER)
    return CallError(
        fault,
        text[:_MAX_CHARS],
        status=status,
        retry_after_s=_retry_after_s(error) if may_wait else None,
        parameter=_parameter(details, text) if fault == CallFault.BAD_REQUEST else None,
    )


def is_filtered(error: CallError) -> bool:
    """Return whether the provider's content filter turned the question down."""
    return error.fault == CallFault.BAD_REQUEST and bool(_FILTERED.search(error.message))


def _details(error: Exception) -> Mapping[str, Any]:
    """Return what the server says of the error; LiteLLM has it only as JSON within its text."""
    body = getattr(error, "body", None)
    if not isinstance(body, Mapping):
        text = str(error)
        try:
            body, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
        except (ValueError, RecursionError):
            return {}
    details = body.get("error", body) if isinstance(body, Mapping) else None
    return details if isinstance(details, Mapping) else {}


def _fault(error: Exception, status: int | None, code: str, text: str) -> CallFault:
    names = {cls.__name__ for cls in type(error).__mro__}
    if status == 402 or "insufficient_quota" in code or _NO_CREDIT.search(text):
        return CallFault.QUOTA
    if names & {"APITimeoutError", "Timeout", "TimeoutException"} or isinstance(error, TimeoutError):
        return CallFault.TIMEOUT
    if "ContextWindowExceededError" in names or "context_length" in code:
        return CallFault.CONTEXT_LENGTH
    if "APIResponseValidationError" in names or "JSONDecodeError" in names:
        return CallFault.MALFORMED
    if status is None:
        return (
            CallFault.CONNECTION if names & {"APIConnectionError", "TransportError"} else CallFault.MALFORMED
        )
    if status < 400:
        return CallFault.MALFORMED
    if status in (400, 413, 422) and _CONTEXT.search(text):
        return CallFault.CONTEXT_LENGTH
    by_status = {
        401: CallFault.AUTH,
        403: CallFault.AUTH,
        404: CallFault.NOT_FOUND,
        408: CallFault.TIMEOUT,
        409: CallFault.SERVER,
        429: CallFault.RATE_LIMIT,
    }
    if status in by_status:
        return by_status[status]
    return CallFault.SERVER if status >= 500 else CallFault.BAD_REQUEST


def _parameter(details: Mapping[str, Any], text: str) -> str | None:
    named = str(details.get("param") or "")
    for where in (named.lower(), text.lower()):
        # The first is the refused one: "max_tokens is not supported, use max_completion_tokens".
        found = [(where.index(word), quirk) for word, quirk in _PARAMETERS if word in where]
        if found:
            return min(found)[1]
    return None


def _retry_after_s(error: Exception) -> float | None:
    """Read Retry-After, in seconds or as a date, or its form in milliseconds."""
    sources = (getattr(error, "response", None), "headers"), (error, "litellm_response_headers")
    found = [getattr(source, name, None) for source, name in sources]
    headers = {str(k).lower(): v for group in found if isinstance(group, Mapping) for k, v in group.items()}
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * unit_s)
        except ValueError:
            pass
        try:
            moment_s = email.utils.parsedate_to_datetime(value).timestamp()
        except (ValueError, OverflowError):
            continue
        return max(0.0, moment_s - time.time())
    return None
