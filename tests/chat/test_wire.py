"""What is sent, and how odd bodies are read."""

import base64
import json

import pytest

from rewardsmith.services.chat.base import CallError, CallFault, ChatMessage, ChatRequest, TokenUsage
from rewardsmith.services.chat.wire import MAX_TEXT_CHARS, read_reply, request_fields

NO_QUIRKS = frozenset()
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
REQUEST = ChatRequest(
    messages=(
        ChatMessage(role="system", text="Be brief."),
        ChatMessage(role="user", text="Look.", images=(PNG, PNG[::-1])),
    ),
    temperature=0.0,
    max_tokens=77,
    schema={"type": "object"},
    schema_name="verdict",
)


def body(**message):
    return {"choices": [{"message": {"content": "hello"} | message, "finish_reason": "stop"}]}


def usage_of(usage):
    return read_reply(body() | {"usage": usage}).usage


def test_a_request_has_openais_form():
    plain = ChatRequest(messages=(ChatMessage(role="user", text="Hi"),))
    assert request_fields(plain, NO_QUIRKS, modern=False) == {
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 8192,
    }


def test_images_go_along_as_data_after_the_text():
    system, user = request_fields(REQUEST, NO_QUIRKS, modern=False)["messages"]
    text, *images = user["content"]
    assert system["content"] == "Be brief."
    assert text == {"type": "text", "text": "Look."}
    for image, png in zip(images, (PNG, PNG[::-1]), strict=True):
        kind, _, data = image["image_url"]["url"].partition(",")
        assert (image["type"], kind) == ("image_url", "data:image/png;base64")
        assert base64.b64decode(data, validate=True) == png


def test_a_schema_is_asked_for_strictly():
    fields = request_fields(REQUEST, NO_QUIRKS, modern=False)
    assert fields["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "schema": {"type": "object"}, "strict": True},
    }
    assert fields["temperature"] == 0.0, "no temperature is another thing than none"


@pytest.mark.parametrize(
    ("quirks", "modern", "name"),
    [
        ((), False, "max_tokens"),
        ((), True, "max_completion_tokens"),
        (("max_tokens",), False, "max_completion_tokens"),
        (("max_completion_tokens",), True, "max_tokens"),
        (("max_completion_tokens",), False, "max_tokens"),
    ],
)
def test_the_limit_has_the_name_that_the_model_takes(quirks, modern, name):
    fields = request_fields(REQUEST, frozenset(quirks), modern=modern)
    assert {key: value for key, value in fields.items() if key.startswith("max_")} == {name: 77}


def test_what_a_model_does_not_take_is_left_out():
    fields = request_fields(REQUEST, frozenset({"temperature", "schema", "images"}), modern=False)
    assert fields.keys() == {"messages", "max_tokens"}
    assert fields["messages"][1] == {"role": "user", "content": "Look."}


def test_half_a_surrogate_pair_does_not_keep_a_request_from_being_sent():
    halved = ChatRequest(messages=(ChatMessage(role="user", text="\ud83d Hi", images=(PNG,)),))
    for quirks in (NO_QUIRKS, frozenset({"images"})):
        assert json.dumps(request_fields(halved, quirks, modern=False), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (None, "NoneType, not an object"),
        ([], "list, not an object"),
        ("<html>", "str, not an object"),
        ({}, "no choices"),
        ({"choices": None}, "no choices"),
        ({"choices": {}}, "no choices"),
        ({"choices": [None]}, "no choices"),
        ({"choices": ["text"]}, "no choices"),
        ({"choices": [{}]}, "no choices"),
        ({"choices": [{"message": None}]}, "no choices"),
        ({"choices": [{"text": "an old completion"}]}, "no choices"),
    ],
)
def test_a_body_of_another_form_is_malformed(data, part):
    with pytest.raises(CallError, match=part) as raised:
        read_reply(data)
    assert raised.value.fault == CallFault.MALFORMED


@pytest.mark.parametrize("error", [{"message": "no GPU left", "code": 1}, "no GPU left", ["no GPU left"]])
def test_an_error_in_a_good_response_is_the_servers(error):
    with pytest.raises(CallError, match="no GPU left") as raised:
        read_reply(body() | {"error": error})
    assert raised.value.fault == CallFault.SERVER


@pytest.mark.parametrize("error", [None, {}, ""])
def test_an_empty_error_is_none(error):
    assert read_reply(body() | {"error": error}).text == "hello"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        (7, ""),
        ({"text": "x"}, ""),
        ([{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}], "hello"),
        ([{"type": "thinking", "thinking": [{"text": "hm"}]}, {"text": "hello"}], "hello"),
        ([None, "x", {"text": None}, {"text": ["x"]}, {}, {"text": "hello"}], "hello"),
        ("\ud83d hello \ude00", "? hello ?"),
        ("\U0001f600 \x00", "\U0001f600 \x00"),
        ("x" * (MAX_TEXT_CHARS + 1), "x" * MAX_TEXT_CHARS),
    ],
)
def test_the_text_is_read_from_content_of_any_form(content, text):
    assert read_reply(body(content=content)).text == text


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_read_from_either_field(field):
    assert read_reply(body(**{field: "hm"})).reasoning == "hm"


def test_the_other_fields_are_read_where_they_have_a_use():
    data = body(refusal="no") | {"model": "m-1"}
    data["choices"][0]["finish_reason"] = "length"
    reply = read_reply(data)
    assert (reply.refusal, reply.model, reply.finish_reason) == ("no", "m-1", "length")
    odd = body(refusal="") | {"model": 7, "usage": "none"}
    odd["choices"][0]["finish_reason"] = ["stop"]
    reply = read_reply(odd)
    assert (reply.refusal, reply.model, reply.finish_reason) == (None, None, None)
    assert reply.usage == TokenUsage()


def test_usage_is_read_with_its_details():
    usage = usage_of(
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 5},
        }
    )
    assert usage == TokenUsage(prompt=100, cached=64, completion=20, reasoning=5)
    assert usage.total == 120


@pytest.mark.parametrize(
    "usage",
    [None, [], "many", {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "12"}]
    + [{"prompt_tokens": bad, "completion_tokens": 1} for bad in (-5, 1.5, True, 10**12, None, [12])],
)
def test_a_prompt_without_a_count_makes_the_usage_unknown(usage):
    assert usage_of(usage) == TokenUsage()
    assert TokenUsage().total is None


@pytest.mark.parametrize("details", [None, "many", [], {"cached_tokens": "many", "reasoning_tokens": -1.5}])
def test_details_that_make_no_sense_are_unknown(details):
    counts = {"prompt_tokens": 3, "completion_tokens": -1}
    usage = usage_of(counts | {"prompt_tokens_details": details, "completion_tokens_details": details})
    assert usage == TokenUsage(prompt=3)
    assert usage.total is None


@pytest.mark.parametrize(
    ("cost", "usd"),
    [(0.25, 0.25), (0, 0.0), (-1, None), (True, None), ("0.25", None), (float("nan"), None), (1e9, None)],
)
def test_a_cost_that_the_server_tells_counts_where_it_is_one(cost, usd):
    assert read_reply(body() | {"usage": {"cost": cost}}).usd == usd
