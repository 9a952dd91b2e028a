"""The template form: what its schema admits becomes a reward, and what is wrong with an answer is told."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from builtin.builtin_tasks import (
    BRIEFS,
    LANDER,
    MANIPULATION,
    PENDULUM,
    actions,
    call,
    compile_reward,
    states,
)
from prompts.cases import made_up_brief
from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.contract.static_checks import check_source
from rewardsmith.errors import FailureCode
from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.models.builtin.terms import MAX_TERMS, Genome
from rewardsmith.services.models.llm.template import ALIVE, EFFORT, Template
from rewardsmith.services.tasks.catalog import load_task

GOALS_ALONE = replace(
    PENDULUM,
    name="toy/goals",
    layout=StateLayout((StateField(name="goal_pos", shape=(3,), kind="position"),)),
    action=ActionSpec(dim=1, discrete=True),
    ranges={},
)
"""Nothing can be measured in its state."""
TASKS = {
    **BRIEFS,
    GOALS_ALONE.name: GOALS_ALONE,
    **{name: made_up_brief(load_task(name)) for name in ("classic/pendulum", "metaworld/drawer-open")},
}
each_task = pytest.mark.parametrize("brief", TASKS.values(), ids=TASKS)


def instance(schema, rng):
    """Draw a value that a schema admits."""
    if "anyOf" in schema:
        return instance(rng.choice(schema["anyOf"]), rng)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if schema["type"] == "array":
        n = rng.randint(schema["minItems"], schema["maxItems"])
        return [instance(schema["items"], rng) for _ in range(n)]
    if schema["type"] == "object":
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
        return {name: instance(value, rng) for name, value in schema["properties"].items()}
    assert schema["type"] == "null"
    return None


def read(brief, answer, **reply):
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Template(brief).read(ChatReply(text=text, **reply), "fresh", ("i01c00",))


def term(measure, shape, weight=1.0, only_near=None):
    return {"measure": measure, "shape": shape, "weight": weight, "only_near": only_near}


def reward_of(brief, proposal, n=6):
    check_source(proposal.source)
    rng = np.random.default_rng(0)
    before, after = states(brief, rng, n), states(brief, rng, n)
    batch = (before, actions(brief, rng, n), after, np.arange(n) == 0)
    return call(compile_reward(proposal.source), brief, *batch)


def assert_is_a_reward(brief, answer):
    proposal = read(brief, answer)
    assert (proposal.failure, proposal.message, proposal.said) == (None, "", ""), answer
    total, components = reward_of(brief, proposal)
    assert total.shape == (6,)
    assert np.isfinite(total).all()
    np.testing.assert_allclose(total, sum(components.values()), atol=1e-12)
    assert Genome.from_json(proposal.genome)
    assert json.loads(proposal.genome["answer"])["terms"][0]["measure"] == answer["terms"][0]["measure"]


@each_task
def test_whatever_the_schema_admits_is_a_reward(brief):
    schema, rng = Template(brief).schema, random.Random(0)
    for _ in range(60):
        assert_is_a_reward(brief, instance(schema, rng))


@each_task
def test_every_measure_goes_with_every_shape_that_the_schema_gives_it(brief):
    for form in Template(brief).schema["properties"]["terms"]["items"]["anyOf"]:
        parts = form["properties"]
        for measure in parts["measure"]["enum"]:
            for shape in parts["shape"]["enum"]:
                assert_is_a_reward(brief, {"terms": [term(measure, shape)]})


@each_task
def test_the_prompt_lists_what_the_schema_admits(brief):
    template = Template(brief)
    listed = [line.rpartition(" (")[0] for line in template.measures]
    forms = template.schema["properties"]["terms"]["items"]["anyOf"]
    assert listed == [name for form in forms for name in form["properties"]["measure"]["enum"]]
    assert len(set(listed)) == len(listed)


def test_every_choice_of_the_schema_has_a_type():
    def choices(node):
        if isinstance(node, dict):
            if "enum" in node:
                yield node
            for value in node.values():
                yield from choices(value)
        elif isinstance(node, list):
            for value in node:
                yield from choices(value)

    found = list(choices(Template(MANIPULATION).schema))
    assert len(found) == 7
    kinds = {"string": str, "number": float}
    assert all(isinstance(value, kinds[node["type"]]) for node in found for value in node["enum"])


def test_the_same_task_gives_the_same_template():
    assert Template(MANIPULATION).schema == Template(MANIPULATION).schema
    assert Template(MANIPULATION).gaps == Template(MANIPULATION).gaps


def test_a_goal_is_measured_only_beside_something_else():
    names = [*Template(MANIPULATION).gaps, *Template(MANIPULATION).values]
    assert [name for name in names if "goal_pos" in name] == [
        "distance of hand_pos and goal_pos",
        "distance of drawer_pos and goal_pos",
    ]


def test_effort_is_a_measure_of_continuous_actions_alone():
    assert EFFORT in Template(MANIPULATION).values
    assert EFFORT not in Template(LANDER).values
    assert ALIVE in Template(LANDER).values


def test_a_task_in_which_nothing_can_be_measured_has_its_steps_left():
    assert Template(GOALS_ALONE).measures == (f"{ALIVE} (more, less)",)
    with_goal = replace(GOALS_ALONE, action=ActionSpec(dim=1))
    assert Template(with_goal).measures == (f"{EFFORT} (more, less)", f"{ALIVE} (more, less)")


DISTANCE = "distance of hand_pos and drawer_pos"


def paid(answer, n=1, **fields):
    """The reward of one step from rest to the given fields of the drawer task."""
    layout = MANIPULATION.layout
    before, after = np.zeros((n, layout.dim)), np.zeros((n, layout.dim))
    for name, (old, new) in fields.items():
        before[:, layout.slices[name]], after[:, layout.slices[name]] = old, new
    source = read(MANIPULATION, {"terms": answer}).source
    action = np.full((n, 4), 0.5)
    return float(call(compile_reward(source), MANIPULATION, before, action, after, np.zeros(n, bool))[0][0])


def test_toward_pays_for_getting_closer_and_takes_it_back():
    closer = paid([term(DISTANCE, "toward")], hand_pos=(0.5, 0.2))
    assert closer > 0
    assert paid([term(DISTANCE, "toward")], hand_pos=(0.2, 0.5)) == pytest.approx(-closer)


def test_near_and_exact_pay_for_being_close_and_exact_falls_off_faster():
    near, exact = [term(DISTANCE, "near")], [term(DISTANCE, "exact")]
    assert paid(near) == paid(exact) == 1.0
    assert 0 < paid(exact, hand_pos=(0.2, 0.2)) < paid(near, hand_pos=(0.2, 0.2)) < 1


def test_far_costs_more_the_farther():
    far = [term(DISTANCE, "far")]
    assert paid(far, hand_pos=(0.4, 0.4)) < paid(far, hand_pos=(0.2, 0.2)) < 0.0


def test_more_pays_and_less_costs():
    assert paid([term("gripper", "more")], gripper=(1.0, 1.0)) > 0
    assert paid([term("gripper", "less")], gripper=(1.0, 1.0)) < 0
    assert paid([term(EFFORT, "less")]) < 0 < paid([term(EFFORT, "more")])
    assert paid([term(ALIVE, "less", 3.0)]) == -3.0
    assert paid([term(ALIVE, "more", 3.0)]) == 3.0


def test_a_term_counts_only_near_what_it_names():
    opened = {"goal_pos": (0.0, 0.0), "drawer_pos": (0.3, 0.1)}
    gated = [term("distance of drawer_pos and goal_pos", "toward", only_near=DISTANCE)]
    assert paid(gated, **opened, hand_pos=(0.3, 0.1)) > 10 * paid(gated, **opened, hand_pos=(0.9, 0.9)) > 0


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (term(DISTANCE, "more"), DISTANCE),
        (term("gripper", "near"), "gripper"),
        (term("no_such_field", "less"), "no_such_field"),
        (term("no_such_field", "toward"), "no_such_field"),
        (term("gripper", "less", only_near="no_such_field"), "no_such_field"),
        (term(EFFORT, "exact"), EFFORT),
        (term("gripper", "squared"), "terms.0.shape"),
        (term("gripper", "less", weight=-1.0), "terms.0.weight"),
        (term("gripper", "less", weight=1e9), "terms.0.weight"),
        ({"shape": "less", "weight": 1.0}, "terms.0.measure"),
    ],
)
def test_a_wrong_choice_is_bad_form_and_its_message_names_it(wrong, named):
    proposal = read(MANIPULATION, {"terms": [wrong]})
    assert proposal.failure == FailureCode.BAD_FORM
    assert named in proposal.message
    assert json.loads(proposal.said) == {"terms": [wrong]}
    assert (proposal.source, proposal.genome) == ("", None)


@pytest.mark.parametrize("answer", ["I would pay for speed.", '{"terms": []}', '{"terms": 3}', "{}", "[1]"])
def test_an_answer_of_another_form_is_bad_form(answer):
    proposal = read(MANIPULATION, answer)
    assert (proposal.failure, proposal.said) == (FailureCode.BAD_FORM, answer)
    assert proposal.message


@pytest.mark.parametrize(
    ("text", "reply", "failure"),
    [
        ("", {}, FailureCode.EMPTY),
        (" \n", {"finish_reason": "stop"}, FailureCode.EMPTY),
        ("", {"refusal": "I cannot."}, FailureCode.REFUSED),
        ("", {"finish_reason": "content_filter"}, FailureCode.REFUSED),
        ('{"terms": [{"measure": "gri', {"finish_reason": "length"}, FailureCode.TRUNCATED),
    ],
)
def test_empty_refused_and_cut_answers_are_told_apart(text, reply, failure):
    proposal = read(MANIPULATION, text, **reply)
    assert proposal.failure == failure
    assert proposal.message
    assert proposal.said == text.strip()


def test_an_answer_with_prose_around_it_or_in_the_reasoning_is_read():
    answer = {"terms": [term("gripper", "more")]}
    for reply in (
        ChatReply(text=f"Here:\n```json\n{json.dumps(answer)}\n```\nDone."),
        ChatReply(text="", reasoning=f"So {json.dumps(answer)}"),
    ):
        assert Template(MANIPULATION).read(reply, "fresh", ()).failure is None


def test_an_answer_may_leave_out_only_near_and_say_more_than_is_asked():
    answer = {"why": "so", "terms": [{"measure": "gripper", "shape": "more", "weight": 2, "note": "!"}]}
    assert read(MANIPULATION, answer).failure is None


def test_repeated_and_surplus_terms_are_dropped():
    same = [term("gripper", "more")] * 3
    assert len(read(MANIPULATION, {"terms": same}).genome["terms"]) == 1
    many = [term(DISTANCE, "near", weight=0.1 * (i + 1)) for i in range(20)]
    assert len(read(MANIPULATION, {"terms": many}).genome["terms"]) == MAX_TERMS


def test_a_proposal_says_where_it_comes_from():
    proposal = read(MANIPULATION, {"terms": [term("gripper", "more")]})
    assert (proposal.origin, proposal.parents) == ("fresh", ("i01c00",))
