"""The evaluator: what it asks a model, and what it makes of the answers."""

import json

import pytest

from builtin.builtin_tasks import PENDULUM
from prompts.cases import CRITIQUE, REWARD, RUBRIC, Asked, evidence_of
from rewardsmith.errors import BudgetExhausted
from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.chat.structured import schema_of
from rewardsmith.stages.evaluator import RUBRIC_KEY, Critique, Evaluator, Rubric

SOURCE = REWARD.format(weight=3.0)


def rubric(*texts, **settings):
    asked = Asked(*texts)
    return Evaluator(ask=asked, max_tokens=700, **settings).rubric(PENDULUM), asked


def critique(*texts, evidence=None, rubric=None, images=()):
    asked = Asked(*texts)
    evaluator = Evaluator(ask=asked, max_tokens=700)
    measured = evidence or evidence_of(PENDULUM)
    return evaluator.critique("i02/critique", PENDULUM, SOURCE, measured, rubric, images), asked


def test_a_rubric_is_asked_for_with_its_schema():
    (found, reason), asked = rubric(json.dumps(RUBRIC))
    assert (found, reason) == (RUBRIC, "")
    (call,) = asked.calls
    assert (call.key, call.asker) == (RUBRIC_KEY, "evaluator")
    assert (call.request.schema, call.request.schema_name) == (schema_of(Rubric), "rubric")
    assert (call.request.temperature, call.request.max_tokens) == (0.0, 700)
    assert "Hold the pole upright." in call.request.messages[1].text


def test_a_critique_is_asked_for_with_its_schema_code_and_evidence():
    (found, reason), asked = critique(json.dumps(CRITIQUE), rubric=RUBRIC)
    assert (found, reason) == (CRITIQUE, "")
    (call,) = asked.calls
    assert (call.key, call.asker) == ("i02/critique", "evaluator")
    assert (call.request.schema, call.request.schema_name) == (schema_of(Critique), "critique")
    system, question = call.request.messages
    assert (system.role, question.role) == ("system", "user")
    assert f"```python\n{SOURCE.strip()}\n```" in question.text
    assert "- after 200 steps: fitness 0.3" in question.text
    assert "- goal: Does the last state show what the goal asks for?" in question.text
    assert json.dumps(schema_of(Critique), indent=1) in question.text


def test_the_diagnosis_is_written_before_any_judgement():
    assert next(iter(schema_of(Critique)["properties"])) == "diagnosis"


def test_a_wrong_answer_is_mended_once_with_the_reason():
    (found, _), asked = critique("Well done!", json.dumps(CRITIQUE))
    assert found == CRITIQUE
    first, second = asked.calls
    assert second.key == "i02/critique/repair1"
    said, objection = second.request.messages[2:]
    assert second.request.messages[:2] == first.request.messages
    assert (said.role, said.text) == ("assistant", "Well done!")
    assert "it holds no JSON object" in objection.text


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Well done!", "it holds no JSON object"),
        ("", "the answer is empty"),
        (json.dumps({**CRITIQUE, "hacking_suspicion": "perhaps"}), "hacking_suspicion"),
        (json.dumps({**CRITIQUE, "diagnosis": ""}), "diagnosis"),
        (json.dumps({"components": []}), "diagnosis"),
        (json.dumps({**CRITIQUE, "components": [{"name": "a"}]}), "components.0.verdict"),
        (ChatReply(text="", refusal="I would rather not."), "refusal"),
    ],
)
def test_two_wrong_answers_give_no_critique_and_a_reason(answer, reason):
    (found, why), asked = critique(answer, answer)
    assert found is None
    assert reason in why
    assert len(asked.calls) == 2


def test_a_call_without_an_answer_gives_no_critique_and_is_not_mended():
    (found, reason), asked = critique()
    assert (found, reason) == (None, "it says nothing")
    assert len(asked.calls) == 1


def test_an_empty_rubric_is_none():
    (found, reason), _ = rubric('{"criteria": []}', '{"criteria": []}')
    assert found is None
    assert "criteria" in reason


def test_long_lists_are_cut():
    verdict = CRITIQUE["components"][0]
    long = {**CRITIQUE, "components": [verdict] * 40, "changes": [f"change {i}" for i in range(40)]}
    (found, _), _ = critique(json.dumps(long))
    assert len(found["components"]) == 12
    assert found["changes"] == [f"change {i}" for i in range(5)]


def test_what_is_not_asked_for_is_left_out_and_what_is_missing_is_the_least():
    (found, _), _ = critique(json.dumps({"diagnosis": "It stands still.", "score": 11}))
    assert found == {
        "diagnosis": "It stands still.",
        "components": [],
        "changes": [],
        "hacking_suspicion": "none",
        "hacking_reason": "",
    }


def test_pictures_are_passed_on_and_told_of():
    _, asked = critique(json.dumps(CRITIQUE), images=(b"png",))
    question = asked.requests[0].messages[1]
    assert question.images == (b"png",)
    assert "The pictures show frames" in question.text


def test_without_pictures_none_are_told_of():
    _, asked = critique(json.dumps(CRITIQUE))
    question = asked.requests[0].messages[1]
    assert question.images == ()
    assert "pictures" not in question.text


def test_the_pictures_stay_when_an_answer_is_mended():
    _, asked = critique("no", json.dumps(CRITIQUE), images=(b"png",))
    assert asked.requests[1].messages[1].images == (b"png",)


def test_a_candidate_without_a_policy_is_reviewed_as_such():
    untrained = {**evidence_of(PENDULUM), "process": None, "rollouts": []}
    texts = [critique("", evidence=e)[1].requests[0].messages[1].text for e in (None, untrained)]
    told = ["No trained policy is there to look at" in text for text in texts]
    assert told == [False, True]
    assert "How this reward orders 4 recorded episodes" in texts[1]


def test_a_budget_that_holds_no_call_is_raised_for_the_loop_to_decide():
    def ask(calls):
        raise BudgetExhausted("max_tokens is 0")

    with pytest.raises(BudgetExhausted):
        Evaluator(ask=ask, max_tokens=9).rubric(PENDULUM)
