"""Where a field of the state is read: text that becomes Python, so only known forms may pass."""

import ast
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewardsmith.contract.sources import (
    STATE_FILE_SOURCE,
    check_field_name,
    extraction_code,
    source_expression,
)


def place(x):
    return SimpleNamespace(xpos=np.array([x, x + 1, x + 2]))


DATA = SimpleNamespace(
    qpos=np.arange(10.0, 17.0),
    qvel=np.arange(20.0, 26.0),
    ctrl=np.arange(30.0, 32.0),
    site=lambda name: place({"end_effector": 1.0, "a:b/c.d-e": 4.0}[name]),
    body=lambda name: place({"cube": 7.0}[name]),
    geom=lambda name: place({"floor": 10.0}[name]),
)
ENV = SimpleNamespace(unwrapped=SimpleNamespace(data=DATA))
OBS = np.arange(5.0) + 0.5
DICT_OBS = {"achieved goal": np.arange(3.0), "grid": np.arange(4.0).reshape(2, 2)}
INFO = {"x_position": 3.5, "contact/left": np.array([1, 0]), "is_up": True}


def extract(fields, obs=OBS, **functions):
    namespace = {"np": np, **functions}
    exec(extraction_code(fields), namespace)
    return namespace["extract_state"](obs, INFO, ENV)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("obs", OBS),
        ("obs[0]", OBS[0]),
        ("obs[-1]", OBS[-1]),
        ("obs[1:3]", OBS[1:3]),
        ("obs[:2]", OBS[:2]),
        ("obs[3:]", OBS[3:]),
        ("obs[-2:]", OBS[-2:]),
        ("obs[:]", OBS),
        ("info.x_position", 3.5),
        ("info.contact/left", [1, 0]),
        ("info.contact/left[1]", 0),
        ("info.is_up", 1.0),
        ("mujoco.site.end_effector", [1, 2, 3]),
        ("mujoco.site.a:b/c.d-e", [4, 5, 6]),
        ("mujoco.body.cube", [7, 8, 9]),
        ("mujoco.geom.floor", [10, 11, 12]),
        ("mujoco.qpos[7:]", []),
        ("mujoco.qpos[0:2]", [10, 11]),
        ("mujoco.qvel[-1]", 25),
        ("mujoco.ctrl[:]", [30, 31]),
    ],
)
def test_each_form_reads_what_it_names(source, expected):
    vector = extract([("field", source)])
    assert vector.dtype == np.float64
    np.testing.assert_array_equal(vector, np.ravel(expected))


def test_a_dict_observation_is_read_by_key():
    fields = [("goal", "obs.achieved goal[0:2]"), ("grid", "obs.grid")]
    np.testing.assert_array_equal(extract(fields, DICT_OBS), [0, 1, 0, 1, 2, 3])


def test_keys_lead_into_mappings_in_mappings():
    fields = [("left", "obs.goal.bottom burner[1]"), ("right", "obs.goal.bottom burner")]
    obs = {"goal": {"bottom burner": np.array([3.0, 4.0])}}
    np.testing.assert_array_equal(extract(fields, obs), [4, 3, 4])


def test_a_single_number_is_an_observation():
    np.testing.assert_array_equal(extract([("cell", "obs")], obs=7), [7.0])


def test_a_field_of_state_py_is_a_call_of_its_name():
    assert source_expression(STATE_FILE_SOURCE, "height") == "height(obs, info, env)"
    vector = extract([("height", "state.py"), ("x", "obs[0]")], height=lambda obs, info, env: obs[1:3])
    np.testing.assert_array_equal(vector, [1.5, 2.5, 0.5])


@pytest.mark.parametrize("name", ["obs", "info", "env", "np", "extract_state"])
def test_a_function_of_state_py_cannot_hide_what_extraction_uses(name):
    with pytest.raises(ValueError, match=f"'{name}' is taken"):
        source_expression(STATE_FILE_SOURCE, name)
    assert source_expression("obs[0]", name) == "obs[0]"


indices = st.none() | st.integers(-7, 7)


@given(indices, indices, st.lists(st.floats(allow_nan=False), min_size=7, max_size=7))
def test_slices_equal_numpys(start, stop, values):
    obs = np.array(values)
    text = "obs[{}:{}]".format(*("" if i is None else i for i in (start, stop)))
    np.testing.assert_array_equal(extract([("f", text)], obs), obs[start:stop])


@given(st.lists(st.sampled_from(["obs[1:4]", "obs[0]", "info.x_position", "mujoco.qvel[2]"]), min_size=1))
def test_fields_are_joined_in_their_order(sources):
    parts = [extract([("f", source)]) for source in sources]
    joined = extract([(f"f{i}", source) for i, source in enumerate(sources)])
    np.testing.assert_array_equal(joined, np.concatenate(parts))


def test_the_vector_does_not_share_memory_with_the_observation():
    assert not np.shares_memory(extract([("f", "obs[:]")]), OBS)


@pytest.mark.parametrize(
    "source",
    [
        "obs.a.",
        "obs[1:2:3]",
        "obs[1,2]",
        "obs[01]",
        "obs[\u0663]",
        "obs[i]",
        "obs.",
        'obs.a"]',
        "obs.key[0]; import os",
        "obs[0]\n",
        "obs[0].__class__",
        "info.a\nb",
        "info.{key}",
        "info.a\\",
        "env.x",
        "mujoco.joint.a",
        "mujoco.qpos",
        'mujoco.site.a")',
        "mujoco.site.a b",
        "STATE.PY",
        " obs[0]",
        "",
    ],
)
def test_any_other_form_is_refused_with_the_known_ones(source):
    with pytest.raises(ValueError, match=r"unknown source .*; use obs, .* or state\.py"):
        source_expression(source, "field")


def is_known(node):
    """Whether an expression is one of the known templates, with constants alone filled in."""
    match node:
        case ast.Name(id="obs" | "info"):
            return True
        case ast.Subscript(value=value, slice=ast.Constant(value=str() | int())):
            return is_known(value)
        case ast.Subscript(value=value, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int()))):
            return is_known(value)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            return is_known(value) and all(bound is None or is_integer(bound) for bound in (lower, upper))
        case ast.Attribute(
            value=ast.Call(func=call, args=[ast.Constant(value=str())], keywords=[]), attr="xpos"
        ):
            return ast.unparse(call) in {f"env.unwrapped.data.{kind}" for kind in ("site", "body", "geom")}
        case ast.Attribute():
            return ast.unparse(node) in {f"env.unwrapped.data.{kind}" for kind in ("qpos", "qvel", "ctrl")}
    return False


def is_integer(node):
    return isinstance(ast.literal_eval(node), int)


nasty = st.text(st.sampled_from("ab0_-/ .:[](){}\"'\\\n#;=,\u00e9\u0663 "), max_size=20)
sources = st.one_of(
    st.text(max_size=30),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["obs.", "info.", "obs[", "mujoco.site.", "mujoco.qpos[", "mujoco.body."]),
        nasty,
        st.sampled_from(["", "]", "[0]", "[1:2]", '"]', '")']),
    ),
)


@given(sources)
@example('info.x"] + __import__("os").getcwd() + ["')
@example("obs[0:__import__('os')]")
@example("mujoco.site.{0.__class__}")
def test_no_source_becomes_anything_but_a_known_expression(source):
    try:
        expression = source_expression(source, "field")
    except ValueError:
        return
    if source != STATE_FILE_SOURCE:
        assert is_known(ast.parse(expression, mode="eval").body), expression


@given(st.text(max_size=12))
@example("terminated")
@example("_private")
@example("class")
@example("\ufb01eld")
def test_a_field_name_is_a_plain_name_or_refused(name):
    try:
        assert check_field_name(name) == name
    except ValueError:
        return
    assert name.isidentifier()
    assert name.isascii()
    assert not name.startswith("_")
    ast.parse(f"state.{name} = 1")
