"""What a coder is told: what stays the same comes first, nothing is said twice, nothing is empty."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from builtin.builtin_tasks import MANIPULATION, PENDULUM
from prompts.cases import (
    OUTPUTS,
    REWARD,
    Asked,
    broken_by,
    coder_of,
    evidence_of,
    full_request,
    record_of,
    request_of,
    terms_of,
    turn_of,
)
from rewardsmith.config import FeedbackConfig
from rewardsmith.errors import FailureCode
from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.models.base import FailureNote
from rewardsmith.services.models.llm.template import Template
from rewardsmith.stages.evidence import evidence

NOTE = FailureNote(code=FailureCode.NON_FINITE, message="the root of a negative number", count=3)
WORDLESS = (FailureCode.EMPTY, FailureCode.REFUSED)


def messages(request, output="code", **settings):
    return coder_of(output, **settings).question(request).messages


def repair_messages(broken, request=None, output="code"):
    asked = Asked()
    coder_of(output).repair(request or request_of(PENDULUM), [broken], 1, asked)
    return asked.requests[0].messages


def later_requests(output="code"):
    """The requests of four iterations: each knows one turn more, and other failures."""
    turns = [turn_of(PENDULUM, f"i0{i}c00", output, weight) for i, weight in ((1, 1.0), (2, 3.0), (3, 10.0))]
    notes = [(), (NOTE,), (replace(NOTE, count=5),), ()]
    best = [None, *(turn.candidate for turn in turns)]
    return [
        request_of(PENDULUM, i + 1, turns=tuple(turns[:i]), failures=notes[i], best=best[i]) for i in range(4)
    ]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_later_conversation_begins_with_all_that_an_earlier_one_said(output):
    earlier, *rest = [messages(request, output) for request in later_requests(output)]
    for later in rest:
        assert len(later) == len(earlier) + 2
        assert later[: len(earlier) - 1] == earlier[:-1]
        # Of the last message only the remarks at its end are new in every iteration.
        kept = later[len(earlier) - 1].text.rstrip()
        assert earlier[-1].text.startswith(kept)
        assert len(kept) > 0.5 * len(earlier[-1].text)
        earlier = later


def test_what_changes_in_every_iteration_stands_at_the_end_of_the_last_message():
    *same, last = messages(full_request(PENDULUM))
    assert "is not finite" in last.text
    assert not any("is not finite" in message.text for message in same)
    assert last.text.index("What was measured") < last.text.index("is not finite")


def test_all_samples_of_an_iteration_share_one_conversation():
    asked = Asked()
    coder_of().propose(request_of(PENDULUM, n=5), asked)
    assert len(asked.calls) == 5
    assert len({call.key for call in asked.calls}) == 5
    assert all(request == asked.requests[0] for request in asked.requests)


def test_ranges_of_a_grown_store_would_change_the_prompt_so_the_opening_brief_is_used():
    wider = replace(PENDULUM, ranges={"pole_speed": (-8.0, 8.0)})
    assert messages(request_of(wider)) != messages(request_of(PENDULUM))


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_turn_is_an_answer_and_what_came_of_it(output):
    found = messages(full_request(PENDULUM, output), output)
    assert [m.role for m in found] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "A policy was trained" in found[3].text
    assert "The policy saves effort" in found[3].text
    assert "No policy was trained" in found[5].text
    assert "reviewer" not in found[5].text


def test_a_template_model_is_shown_its_terms_and_a_code_model_its_code():
    terms = messages(full_request(PENDULUM, "template"), "template")
    assert all("def compute_reward" not in message.text for message in terms)
    assert json.loads(terms[2].text) == json.loads(terms_of(PENDULUM, 1.0))
    assert '"weight": 10.0' in terms[-1].text, "the best so far"
    code = messages(full_request(PENDULUM))
    assert code[2].text == f"```python\n{REWARD.format(weight=1.0).strip()}\n```"


def test_the_best_code_is_shown_where_it_is_not_among_the_turns():
    best = record_of(PENDULUM, "i09c00", weight=77.0)
    (*_, last) = messages(request_of(PENDULUM, turns=(turn_of(PENDULUM),), best=best))
    assert "The best reward so far is another one (fitness 0.5)" in last.text
    assert last.text.count("77.0 * np.mean") == 1


def test_the_best_code_is_not_shown_twice():
    turn = turn_of(PENDULUM, weight=77.0)
    found = messages(request_of(PENDULUM, turns=(turn,), best=turn.candidate))
    assert sum(m.text.count("77.0 * np.mean") for m in found) == 1
    assert "best reward so far" not in found[-1].text


def test_without_turns_the_best_is_the_best_and_not_another_one():
    _, initial = messages(request_of(PENDULUM, best=record_of(PENDULUM, weight=77.0)))
    assert "The best reward so far (fitness 0.5)" in initial.text
    assert "77.0 * np.mean" in initial.text


def test_failures_are_listed_with_how_often_they_came():
    once = replace(NOTE, code=FailureCode.RAISED, message="no field `spede`", count=1)
    _, initial = messages(request_of(PENDULUM, failures=(NOTE, once)))
    assert "- non_finite (3 times): the root of a negative number\n" in initial.text
    assert "- raised: no field 'spede'\n" in initial.text


def test_a_first_conversation_holds_no_remarks():
    _, initial = messages(request_of(PENDULUM))
    assert initial.text.endswith("Write the reward function for this task.\n")


@pytest.mark.parametrize(
    ("goal", "shown", "hidden"),
    [
        ("Keep the cart-pole from falling.", "pier", "pole_angle"),
        ("Swing the pendulum up and keep it balanced upright.", "pier", "pole_angle"),
        ("Open the drawer.", "pole_angle", "pier"),
    ],
)
def test_the_example_is_from_a_task_of_another_kind(goal, shown, hidden):
    _, initial = messages(request_of(replace(MANIPULATION, goal=goal)))
    example = initial.text.partition("Your task:")[0]
    assert shown in example
    assert hidden not in example
    task = {"pier": "bring the boat to the pier", "pole_angle": "keep the cart in the middle"}[shown]
    assert task in example.partition("```")[0], "the example is for the task that it is said to be for"


def test_fields_tell_the_kind_of_a_task_as_well():
    _, initial = messages(request_of(replace(PENDULUM, goal="Stand.")))
    assert "pier" in initial.text


@pytest.mark.parametrize(("output", "few_shot"), [("code", False), ("template", True), ("template", False)])
def test_no_example_is_shown_where_none_is_wanted_or_of_use(output, few_shot):
    _, initial = messages(request_of(PENDULUM), output, few_shot=few_shot)
    assert "An example" not in initial.text
    assert initial.text.startswith("Your task: Hold the pole upright.")


def every_conversation():
    for output in OUTPUTS:
        for request in (*later_requests(output), full_request(PENDULUM, output)):
            yield f"{output} {request.iteration}", messages(request, output)
            for code in FailureCode:
                for i, broken in enumerate(broken_in_every_way(code)):
                    yield f"{output} {code} {i}", repair_messages(broken, request, output)


def broken_in_every_way(code):
    yield broken_by(code, "line 2: wrong", source=REWARD.format(weight=2.0))
    yield broken_by(code, "", said="I would rather not.")
    yield broken_by(code)


def test_no_message_is_empty_and_no_one_speaks_twice_in_a_row():
    for name, found in every_conversation():
        roles = [message.role for message in found]
        assert roles[:2] == ["system", "user"], name
        assert all(a != b for a, b in pairwise(roles)), name
        assert roles[-1] == "user", name
        assert all(message.text.strip() for message in found), name


@pytest.mark.parametrize("code", FailureCode)
def test_a_repair_goes_on_from_the_conversation_in_which_it_was_proposed(code):
    request = full_request(PENDULUM)
    broken = broken_by(code, "line 2: wrong", source=REWARD.format(weight=2.0))
    before, found = messages(request), repair_messages(broken, request)
    if code == FailureCode.EMPTY:
        assert found[:-1] == before[:-1]
        assert found[-1].text.startswith(before[-1].text)
    else:
        assert found[: len(before)] == before
        assert found[len(before)].text == f"```python\n{REWARD.format(weight=2.0).strip()}\n```"
    assert "```text\nline 2: wrong\n```" in found[-1].text
    assert found[-1].text.rstrip().endswith("that defines `compute_reward(state, action, next_state)`.")


@pytest.mark.parametrize("code", [c for c in FailureCode if c not in (*WORDLESS, FailureCode.TRUNCATED)])
def test_a_repair_says_which_check_failed(code):
    assert f": {code}.\n" in repair_messages(broken_by(code, "why", source="x = 1"))[-1].text


def test_an_empty_a_refused_and_a_cut_answer_are_told_so():
    ends = {c: repair_messages(broken_by(c))[-1].text for c in (*WORDLESS, FailureCode.TRUNCATED)}
    assert "Your answer was empty." in ends[FailureCode.EMPTY]
    assert "You declined." in ends[FailureCode.REFUSED]
    assert "cut off at the token limit" in ends[FailureCode.TRUNCATED]


def test_a_repair_quotes_an_answer_that_held_no_code():
    found = repair_messages(broken_by(FailureCode.NO_CODE, "no code", said="Rewards are hard."))
    assert (found[-2].role, found[-2].text) == ("assistant", "Rewards are hard.")


def test_a_repair_of_terms_shows_the_terms_and_asks_for_terms():
    made = Template(PENDULUM).read(ChatReply(text=terms_of(PENDULUM)), "fresh", ())
    broken = broken_by(FailureCode.MAGNITUDE, "too large", source=made.source, genome=made.genome)
    *_, said, question = repair_messages(broken, output="template")
    assert json.loads(said.text) == json.loads(terms_of(PENDULUM))
    assert question.text.endswith("Answer again with the whole JSON object.\n")


def test_repairs_are_asked_by_key_and_attempt_and_keep_their_parents():
    request, asked = full_request(PENDULUM), Asked(f"```python\n{REWARD.format(weight=9.0)}```", "no code")
    broken = [broken_by(FailureCode.RAISED, "a", "x = 1", key=key) for key in ("i04/c01", "i04/c03")]
    broken[0] = replace(broken[0], proposal=replace(broken[0].proposal, parents=("i03c00",)))
    mended, worse = coder_of().repair(request, broken, 2, asked)
    assert [call.key for call in asked.calls] == ["i04/c01/repair2", "i04/c03/repair2"]
    assert (mended.origin, mended.failure, mended.parents) == ("repaired", None, ("i03c00",))
    assert worse.failure == FailureCode.NO_CODE


def test_a_call_that_was_not_answered_is_a_failed_proposal():
    (proposal,) = coder_of().propose(request_of(PENDULUM, n=1), Asked())
    assert (proposal.failure, proposal.message) == (FailureCode.MODEL_ERROR, "it says nothing")


def test_proposals_after_a_turn_are_improvements_of_its_candidate():
    asked = Asked(f"```python\n{REWARD.format(weight=9.0)}```")
    (proposal,) = coder_of().propose(replace(full_request(PENDULUM), n=1), asked)
    assert (proposal.origin, proposal.parents) == ("improved", ("i02c00",))


def test_only_terms_are_asked_for_with_a_schema():
    assert coder_of("code").question(request_of(PENDULUM)).schema is None
    question = coder_of("template").question(request_of(PENDULUM))
    assert question.schema == Template(PENDULUM).schema
    for measure in Template(PENDULUM).measures:
        assert f"- {measure}\n" in question.messages[1].text


def test_nothing_measured_is_told_so():
    nothing = evidence(feedback=FeedbackConfig(), process=None, rollouts=[], preference=None)
    turn = replace(turn_of(PENDULUM, critique=None), evidence=nothing)
    assert "Nothing that could be shown." in messages(request_of(PENDULUM, turns=(turn,)))[-1].text
    assert "Nothing that could be shown." not in messages(full_request(PENDULUM))[3].text


def test_evidence_is_told_with_its_numbers():
    text = messages(full_request(PENDULUM))[3].text
    found = evidence_of(PENDULUM)
    assert (
        "- after 100 steps: fitness 0.3, progress 0.6, success rate 0.5, return under this reward 2" in text
    )
    assert "judged on 2 held-out episodes" in text
    assert "- none: 0, 0; min 0, max 0, share 0 (never changes)\n" in text
    assert f"in {found['preference']['accuracy']:.3g} of 6 pairs" in text
    assert "Highest return: return" in text
    assert "  step 1: pole [" in text
    assert "It failed when it was asked about recorded episodes: slow: 256 rows took 200 ms" in text
