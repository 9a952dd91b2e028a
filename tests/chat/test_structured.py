"""Answers that must be JSON of a given form."""

import contextlib
import json
import time
from typing import Literal

import pytest
from chat_calls import REQUEST
from pydantic import BaseModel, ConfigDict, Field

from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.chat.calls import ModelAnswer
from rewardsmith.services.chat.structured import ask_for, find_json, parse_as, schema_of
from rewardsmith.stages.evaluator import Critique, Rubric

GOOD = '{"name": "rise", "weight": 2}'


class Inner(BaseModel):
    title: str = Field(max_length=10)
    properties: list[Literal["a", "b"]] = []


class Term(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1)
    weight: float
    inner: Inner | None = None


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}  \n",
        f"```json\n{GOOD}\n```",
        f"Here it is:\n\n```\n{GOOD}\n```\nI hope {{it}} helps.",
        f"Of the form {{name, weight}}: {GOOD}",
        f'<think>{{"name": "no", "weight": 10000000000}}</think>{GOOD}',
        f'<THINKING>\n{{"a": 1}} {GOOD} {GOOD}</thinking>{GOOD}',
        f'Perhaps {{"name": "no", "weight": 10000000000}}? No.\n</think>\n{GOOD}',
        f'{GOOD}<think>{{"name": "no", "weight": 10000000000}}',
        f'{{"a": 1}} {GOOD} {{"b": 1}}',
        f"{{{GOOD}}}",
        "{ " * 150 + GOOD,
    ],
)
def test_the_object_is_found_in(text):
    assert find_json(text) == json.loads(GOOD)


def test_line_breaks_within_strings_are_taken_as_they_are_meant():
    assert find_json('{"a": "x\ny"}') == {"a": "x\ny"}


def test_an_object_with_hundreds_of_others_in_it_is_found():
    whole = {"terms": [{"i": i} for i in range(1000)]}
    assert find_json(f"Sure: {json.dumps(whole)}") == whole


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "the answer is empty"),
        (" \n ", "the answer is empty"),
        ("<think>I never stop", "the answer is empty"),
        ("I would rather not.", "it holds no JSON object"),
        ("[1, 2]", "it holds no JSON object"),
        ('{"a": 1,}', "its JSON does not parse"),
        ("{'a': 1}", "its JSON does not parse"),
        ('{"a": 1', "its JSON does not parse"),
        ('{"a": ' + "9" * 5000 + "}", "its JSON does not parse"),
        ('{"a":' * 10_000, "its JSON does not parse"),
    ],
)
def test_without_an_object_the_message_says_why(text, part):
    with pytest.raises(ValueError, match=part) as raised:
        find_json(text)
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 200


@pytest.mark.parametrize(
    "text",
    [
        '{"terms": [{"i": 1}, {"i": 2},], "n": 2}',
        '{"terms": [{"i": 1}, {"i": 2}, {"i"',
        '{"a": {"b": 1} "c": 2}',
    ],
)
def test_a_part_of_a_broken_object_is_not_the_answer(text):
    with pytest.raises(ValueError, match="its JSON does not parse"):
        find_json(text)


@pytest.mark.parametrize(
    "text", ["{" * 10**6, "<think>" * 10**5, "</think" * 10**5, '{"a":[' * 10**5, '{"a":1}' * 10**5]
)
def test_a_huge_answer_is_read_quickly(text):
    started = time.perf_counter()
    with contextlib.suppress(ValueError):
        find_json(text)
    assert time.perf_counter() - started < 1.0


def test_a_form_is_read_from_the_reasoning_where_the_text_is_blank():
    assert parse_as(Term, ChatReply(text="\n", reasoning=GOOD)) == Term(name="rise", weight=2)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (ChatReply(text=GOOD, refusal="no"), "the answer is a refusal"),
        (ChatReply(text=""), "the answer is empty"),
        (ChatReply(text="{}"), "name: Field required; weight: Field required"),
        (ChatReply(text='{"name": "", "weight": "x"}'), "name: String should have at least 1 character"),
        (ChatReply(text='{"name": "a", "weight": 1, "inner": {"title": 7}}'), "inner.title: Input should be"),
        (ChatReply(text='{"name": "a", "weight": 1, "w": 2}'), "w: Extra inputs are not permitted"),
        (ChatReply(text='{"name": "a", "weight": 1, "w\\n`x`": 2}'), "w 'x': Extra inputs are not permitted"),
        (
            ChatReply(text='{"name": "a", "we', finish_reason="length"),
            "(the answer was cut at the token limit)",
        ),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(reply, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011  (the message is compared as it is)
        parse_as(Term, reply)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


class Asked:
    """Answers in the order given."""

    def __init__(self, *texts):
        self.calls = []
        self._texts = list(texts)

    def __call__(self, calls):
        self.calls += calls
        text = self._texts.pop(0)
        reply = None if text is None else ChatReply(text=text)
        return [ModelAnswer(reply=reply, message="no answer within 5 s" if text is None else "")]


def ask_of(asked):
    return ask_for(Term, asked, key="i01/critique", asker="evaluator", request=REQUEST)


def test_a_right_answer_is_asked_for_once():
    asked = Asked(GOOD)
    assert ask_of(asked) == (Term(name="rise", weight=2), "")
    assert [(call.key, call.asker, call.request) for call in asked.calls] == [
        ("i01/critique", "evaluator", REQUEST)
    ]


def test_a_wrong_answer_is_asked_for_once_more_with_the_reason():
    asked = Asked('{"name": "rise"}', GOOD)
    assert ask_of(asked) == (Term(name="rise", weight=2), "")
    first, second = asked.calls
    assert second.key == "i01/critique/repair1"
    *before, said, objection = second.request.messages
    assert tuple(before) == first.request.messages
    assert (said.role, said.text) == ("assistant", '{"name": "rise"}')
    assert (objection.role, "weight: Field required" in objection.text) == ("user", True)


def test_a_second_wrong_answer_is_the_last():
    asked = Asked("no", "still no")
    assert ask_of(asked) == (None, "it holds no JSON object")
    assert len(asked.calls) == 2


def test_an_empty_answer_is_asked_for_again_as_it_was():
    asked = Asked(" ", GOOD)
    assert ask_of(asked)[0] is not None
    assert asked.calls[1].request == REQUEST


@pytest.mark.parametrize("texts", [(None,), ("wrong", None)])
def test_a_call_that_failed_is_not_made_again(texts):
    asked = Asked(*texts)
    assert ask_of(asked) == (None, "no answer within 5 s")
    assert len(asked.calls) == len(texts)


def nodes(schema):
    yield schema
    for value in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(value, dict | list):
            yield from nodes(value)


@pytest.mark.parametrize("form", [Term, Rubric, Critique])
def test_a_schema_is_closed_and_asks_for_every_key(form):
    schema = schema_of(form)
    objects = [node for node in nodes(schema) if isinstance(node, dict) and node.get("type") == "object"]
    assert objects
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
    text = json.dumps(schema)
    assert not [word for word in ("$ref", "$defs", "minLength", "maxLength", "default") if word in text]


def test_a_schema_keeps_properties_that_are_called_like_its_own_words():
    inner = schema_of(Inner)["properties"]
    assert inner["title"] == {"type": "string"}
    assert inner["properties"]["items"] == {"enum": ["a", "b"], "type": "string"}
