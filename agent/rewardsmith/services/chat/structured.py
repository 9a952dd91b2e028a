"""Answers that must be JSON of a given form: found in what models send, checked, mended once."""

import json
import re
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rewardsmith.services.chat.base import ChatMessage, ChatReply, ChatRequest
from rewardsmith.services.chat.calls import Ask, Asker, ModelAnswer, ModelCall
from rewardsmith.services.prompting import plain, render

Model = TypeVar("Model", bound=BaseModel)

_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# Some templates open the tag themselves, so that an answer only closes it.
_THOUGHTS_END = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_MAX_STARTS = 200
_MAX_CHARS = 200_000
_MAX_ECHO_CHARS = 4000


def find_json(text: str) -> Any:
    """Return the JSON object in a model's answer: alone, in a fence, or with prose around it.

    Raises:
        ValueError: there is none; the message is for the model.
    """
    text = _THOUGHTS_END.sub("", _THOUGHTS.sub("", text[:_MAX_CHARS])).strip()
    if not text:
        raise ValueError("the answer is empty")
    decoder = json.JSONDecoder(strict=False)
    reason = "it holds no JSON object"
    largest: dict[str, Any] | None = None
    size, done = 0, 0
    for count, start in enumerate(match.start() for match in re.finditer(r"\{", text)):
        if count == _MAX_STARTS:
            break
        if start < done:
            continue
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            reason = f"its JSON does not parse ({str(error).splitlines()[0][:120]})"
            # What lies before the fault is a part of this object, not the answer.
            done = getattr(error, "pos", start)
            continue
        done = end
        if end - start > size:
            largest, size = found, end - start
    if largest is None:
        raise ValueError(reason)
    return largest


def parse_as(form: type[Model], reply: ChatReply) -> Model:
    """Return the answer as a `form`.

    Raises:
        ValueError: it is none; the message is for the model.
    """
    if reply.refusal:
        raise ValueError("the answer is a refusal")
    try:
        found = find_json(reply.text if reply.text.strip() else reply.reasoning)
    except ValueError as error:
        cut = " (the answer was cut at the token limit)" if reply.finish_reason == "length" else ""
        raise ValueError(f"{error}{cut}") from None
    try:
        return form.model_validate(found)
    except ValidationError as error:
        faults = [
            plain(f"{'.'.join(map(str, fault['loc'])) or 'the object'}: {fault['msg']}")
            for fault in error.errors()[:5]
        ]
        raise ValueError("; ".join(faults)) from None


def ask_for(
    form: type[Model], ask: Ask, *, key: str, asker: Asker, request: ChatRequest
) -> tuple[Model | None, str]:
    """Ask for a `form`, and once more where the answer is none.

    Returns:
        The answer or None, and why there is none.
    """
    (answer,) = ask([ModelCall(key=key, asker=asker, request=request)])
    found, reason = _read(form, answer)
    if found is not None or answer.reply is None:
        return found, reason
    again = replace(request, messages=(*request.messages, *_objection(answer.reply, reason)))
    (answer,) = ask([ModelCall(key=f"{key}/repair1", asker=asker, request=again)])
    return _read(form, answer)


def _objection(reply: ChatReply, reason: str) -> tuple[ChatMessage, ...]:
    """Return what is added to a conversation after a wrong answer; nothing after an empty one."""
    said = reply.text[:_MAX_ECHO_CHARS]
    if not said.strip():
        return ()
    objection = render("evaluator/repair.j2", message=reason)
    return ChatMessage(role="assistant", text=said), ChatMessage(role="user", text=objection)


def _read(form: type[Model], answer: ModelAnswer) -> tuple[Model | None, str]:
    if answer.reply is None:
        return None, answer.message
    try:
        return parse_as(form, answer.reply), ""
    except ValueError as error:
        return None, str(error)


def schema_of(form: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a form as strict structured output wants it: closed, every key required."""
    schema = form.model_json_schema()
    definitions = schema.pop("$defs", {})
    strict: dict[str, Any] = _strict(schema, definitions)
    return strict


def _strict(node: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema without references, titles and limits, which not every server understands."""
    if isinstance(node, list):
        return [_strict(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _strict(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    dropped = ("title", "default", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")
    kept = {
        key: (
            {name: _strict(value, definitions) for name, value in item.items()}
            if key == "properties"
            else _strict(item, definitions)
        )
        for key, item in node.items()
        if key not in dropped
    }
    if "properties" in kept:
        kept |= {"additionalProperties": False, "required": list(kept["properties"])}
    return kept
