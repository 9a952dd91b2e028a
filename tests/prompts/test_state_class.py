"""The state class: Python that a model reads, whatever stands in a task file."""

import ast
from dataclasses import replace

import pytest

from builtin.builtin_tasks import BRIEFS, HOPPER, LANDER, PENDULUM
from prompts.cases import made_up_brief
from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.services.models.llm.state_class import state_class
from rewardsmith.services.tasks.catalog import find_task_folders, load_task

ODD_DOCS = {
    "newlines": "first\nclass Other:\n    x = (",
    "quotes": 'it\'s "so" \'\'\'and\'\'\' """so"""',
    "hash": "# twice # hash",
    "very long": "word " * 2000,
    "backticks": "```\nend\n```",
    "backslash": "ends with \\",
    "controls": "a\x00b\x1b[31mc\u202ed\u2028e\x0cf\x85g",
}


@pytest.mark.parametrize("name", find_task_folders())
def test_the_state_class_of_every_task_is_python(name):
    brief = made_up_brief(load_task(name))
    tree = ast.parse(state_class(brief))
    fields = [node.target.id for node in tree.body[0].body]
    assert fields == [f.name for f in brief.layout.fields]


@pytest.mark.parametrize("brief", BRIEFS.values(), ids=BRIEFS)
def test_the_state_class_of_every_layout_is_python(brief):
    ast.parse(state_class(brief))


@pytest.mark.parametrize("doc", ODD_DOCS)
def test_odd_docs_stay_in_their_comment(doc):
    fields = (
        StateField(name="x", doc=ODD_DOCS[doc], unit=ODD_DOCS[doc][:20]),
        StateField(name="y", shape=(2, 2), low=-1.0, high=float("inf"), doc=ODD_DOCS[doc]),
    )
    text = state_class(replace(PENDULUM, layout=StateLayout(fields), ranges={"x": (0.0, float("nan"))}))
    state, next_state, action = ast.parse(text).body
    assert [node.target.id for node in state.body] == ["x", "y"]
    assert [node.target.id for node in next_state.body] == ["terminated"]
    assert action.target.id == "action"
    assert "`" not in text
    assert len(text.splitlines()) == 10
    assert max(map(len, text.splitlines())) < 700


def test_a_field_is_told_with_shape_unit_bounds_and_range():
    lines = state_class(PENDULUM).splitlines()
    assert lines[1] == (
        "    pole: np.ndarray        # (n, 2) orientation; within -1 to 1; seen from -1 to 1 under random "
        "actions. cos and sin."
    )
    assert lines[2].endswith(
        "# (n,) velocity in rad/s; within -8 to 8; seen from -6.5 to 7 under random actions."
    )


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (ActionSpec(dim=1, low=(-2.0,), high=(2.0,)), "to the environment; each value within -2 to 2"),
        (ActionSpec(dim=2, low=(-1.0, 0.1), high=(1.0, 0.4)), "; within [-1, 0.1] to [1, 0.4]"),
        (ActionSpec(dim=1, low=(-float("inf"),), high=(float("inf"),)), "as applied to the environment"),
        (ActionSpec(dim=3), "(n, 3) float64, as applied to the environment"),
        (LANDER.action, "(n, 1) int64: which of 4 actions was taken"),
        (ActionSpec(dim=1, discrete=True), "(n, 1) int64: the action taken"),
    ],
)  # fmt: skip
def test_the_action_is_told_with_its_bounds(action, told):
    assert state_class(replace(HOPPER, action=action)).endswith(told)
