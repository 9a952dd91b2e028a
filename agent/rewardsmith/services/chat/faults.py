"""From what the SDKs raise to a kind of failure: LiteLLM's errors are subclasses of OpenAI's."""

import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from rewardsmith.services.chat.base import CallError, CallFault

_MAX_MESSAGE = 400
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
"""What refusals call a parameter, and the quirk that it makes; the first that is found counts."""
_CONTEXT = re.compile(
    r"(?i)context.{0,20}(length|window|size)|maximum context|too many tokens|prompt is too long"
)
_FILTERED = re.compile(r"(?i)content.?(filter|policy)|content management policy")


def call_error(error: Exception) -> CallError:
    """Return the typed form of what a client raised.

    Reads what both SDKs have in common, and what LiteLLM puts in other places.
    """
    found = getattr(error, "status_code", None)
    status = found if isinstance(found, int) else None
    details = _details(error)
    text = str(details.get("message") or error) or type(error).__name__
    code = f"{details.get('code') or getattr(error, 'code', '') or ''} {details.get('type') or ''}"
    fault = _fault(error, status, code, text)
    may_wait = fault in (CallFault.RATE_LIMIT, CallFault.SERVER)
    return CallError(
        fault,
        " ".join(text.split())[:_MAX_MESSAGE],
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
        except ValueError:
            return {}
    details = body.get("error", body) if isinstance(body, Mapping) else None
    return details if isinstance(details, Mapping) else {}


def _fault(error: Exception, status: int | None, code: str, text: str) -> CallFault:
    names = {cls.__name__ for cls in type(error).__mro__}
    if "insufficient_quota" in code or "insufficient_quota" in text:
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
    for where in (named, text):
        for word, quirk in _PARAMETERS:
            if word in where.lower():
                return quirk
    return None


def _retry_after_s(error: Exception) -> float | None:
    """Read Retry-After, in seconds or as a date, or its form in milliseconds."""
    headers = {
        **(getattr(getattr(error, "response", None), "headers", None) or {}),
        **(getattr(error, "litellm_response_headers", None) or {}),
    }
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * unit_s)
        except ValueError:
            pass
        try:
            moment = email.utils.parsedate_to_datetime(value)
        except ValueError:
            continue
        return max(0.0, moment.timestamp() - time.time())
    return None
