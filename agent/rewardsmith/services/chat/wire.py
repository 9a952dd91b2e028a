"""The OpenAI form of chat completions: what a request becomes and how an answer is read."""

import base64
from collections.abc import Mapping
from typing import Any

from rewardsmith.services.chat.base import (
    CallError,
    CallFault,
    ChatMessage,
    ChatReply,
    ChatRequest,
    TokenUsage,
)

MAX_TEXT_CHARS = 400_000
"""Of an answer; what is longer is a server gone wrong, and is cut."""
_MAX_ERROR_CHARS = 4000
_REASONING_FIELDS = ("reasoning_content", "reasoning")


def request_fields(request: ChatRequest, quirks: frozenset[str], *, modern: bool) -> dict[str, Any]:
    """Return the fields of the request's body, without the model's name.

    Args:
        request: the question.
        quirks: as in `ChatClient.complete`.
        modern: whether the limit is called `max_completion_tokens` unless the quirks say otherwise.
    """
    renamed = "max_tokens" in quirks or (modern and "max_completion_tokens" not in quirks)
    fields: dict[str, Any] = {
        "messages": [_message(m, images="images" not in quirks) for m in request.messages],
        "max_completion_tokens" if renamed else "max_tokens": request.max_tokens,
    }
    if request.temperature is not None and "temperature" not in quirks:
        fields["temperature"] = request.temperature
    if request.schema is not None and "schema" not in quirks:
        fields["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": request.schema_name,
                "schema": dict(request.schema),
                "strict": True,
            },
        }
    return fields


def read_reply(data: Any) -> ChatReply:
    """Read the body of an answer; of several choices the first counts.

    Raises:
        CallError: `MALFORMED`, it is not a chat completion; `SERVER`, it reports an error with status 200.
    """
    if not isinstance(data, Mapping):
        raise CallError(CallFault.MALFORMED, f"the answer is {type(data).__name__}, not an object")
    if data.get("error"):
        error = data["error"]
        message = error.get("message") if isinstance(error, Mapping) else error
        raise CallError(CallFault.SERVER, f"the server reports an error: {str(message)[:_MAX_ERROR_CHARS]}")
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise CallError(CallFault.MALFORMED, "the answer has no choices with a message")
    reasoning = next((text for key in _REASONING_FIELDS if (text := _text(message.get(key)))), "")
    return ChatReply(
        text=_text(message.get("content")),
        reasoning=reasoning,
        finish_reason=_name(choice.get("finish_reason")),
        refusal=_text(message.get("refusal")) or None,
        usage=_usage(data.get("usage")),
        model=_name(data.get("model")),
        usd=_cost_usd(data.get("usage")),
    )


def _message(message: ChatMessage, *, images: bool) -> dict[str, Any]:
    text = _encodable(message.text)
    if not message.images or not images:
        return {"role": message.role, "content": text}
    urls = [f"data:image/png;base64,{base64.b64encode(png).decode()}" for png in message.images]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": message.role, "content": [{"type": "text", "text": text}, *parts]}


def _text(value: Any) -> str:
    """Return the text of a content field, which some servers send in parts."""
    if isinstance(value, list):
        texts = [part.get("text") for part in value if isinstance(part, Mapping)]
        value = "".join(text for text in texts if isinstance(text, str))
    return _encodable(value[:MAX_TEXT_CHARS]) if isinstance(value, str) else ""


def _encodable(text: str) -> str:
    """Return a text that can be sent and written: half of a surrogate pair cannot."""
    return text.encode(errors="replace").decode()


def _name(value: Any) -> str | None:
    return _text(value)[:200] or None


def _usage(data: Any) -> TokenUsage:
    # LiteLLM writes zeros where the server said nothing; no prompt has no tokens.
    if not isinstance(data, Mapping) or not _count(data.get("prompt_tokens")):
        return TokenUsage()
    return TokenUsage(
        prompt=_count(data.get("prompt_tokens")),
        cached=_count(_inner(data, "prompt_tokens_details", "cached_tokens")),
        completion=_count(data.get("completion_tokens")),
        reasoning=_count(_inner(data, "completion_tokens_details", "reasoning_tokens")),
    )


def _cost_usd(data: Any) -> float | None:
    """Return the cost that some servers, such as OpenRouter, report with the usage."""
    value = data.get("cost") if isinstance(data, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        return None
    return float(value)


def _inner(data: Mapping[str, Any], group: str, key: str) -> Any:
    details = data.get(group)
    return details.get(key) if isinstance(details, Mapping) else None


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12
    return value if is_count else None
