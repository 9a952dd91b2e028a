"""Rendered sources keep the reward contract, whatever the layout and however wild the numbers."""

import ast
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from builtin.builtin_tasks import BRIEFS, MANIPULATION, actions, call, compile_reward, request, states
from rewardsmith.contract.layout import ActionSpec
from rewardsmith.services.models.builtin import BuiltinCoder
from rewardsmith.services.models.builtin.render import render
from rewardsmith.services.models.builtin.terms import Gate, Genome, Quantity, Term

COMPONENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ ]{0,39}")
REWARDS = {
    name: [compile_reward(p.source) for p in BuiltinCoder().propose(request(brief, n=300, seed=7))]
    for name, brief in BRIEFS.items()
}


def transitions(brief, rng, n, scale):
    return (
        states(brief, rng, n, scale),
        actions(brief, rng, n, scale),
        states(brief, rng, n, scale),
        rng.random(n) < 0.3,
    )


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e6, 1e150])
@pytest.mark.parametrize("name", BRIEFS)
def test_every_reward_answers_finite_rows_far_below_the_magnitude_limit(name, scale):
    batch = transitions(BRIEFS[name], np.random.default_rng(0), 16, scale)
    for reward in REWARDS[name]:
        total, components = call(reward, BRIEFS[name], *batch)
        assert total.shape == (16,)
        assert np.all(np.abs(total) < 1e4)
        assert 1 <= len(components) <= 32
        for component, values in components.items():
            assert COMPONENT_NAME.fullmatch(component)
            assert values.shape == (16,)
            assert values.dtype == np.float64


@pytest.mark.parametrize("name", BRIEFS)
def test_components_add_up_to_the_reward(name):
    batch = transitions(BRIEFS[name], np.random.default_rng(1), 16, 1.0)
    for reward in REWARDS[name]:
        total, components = call(reward, BRIEFS[name], *batch)
        np.testing.assert_allclose(total, sum(components.values()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", BRIEFS)
def test_a_row_alone_gets_what_it_gets_in_a_batch(name):
    batch = transitions(BRIEFS[name], np.random.default_rng(2), 16, 1.0)
    alone = [part[5:6] for part in batch]
    for reward in REWARDS[name]:
        total, _ = call(reward, BRIEFS[name], *batch)
        np.testing.assert_allclose(call(reward, BRIEFS[name], *alone)[0], total[5:6], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", BRIEFS)
def test_nothing_that_is_passed_in_is_changed(name):
    batch = transitions(BRIEFS[name], np.random.default_rng(3), 4, 1.0)
    before = [part.copy() for part in batch]
    for reward in REWARDS[name]:
        call(reward, BRIEFS[name], *batch)
    for part, copy in zip(batch, before, strict=True):
        np.testing.assert_array_equal(part, copy)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_finite_state_gets_a_finite_reward(data):
    largest = float(np.finfo(np.float64).max)
    numbers = st.floats(-largest, largest)
    rows = hnp.arrays(np.float64, (2, MANIPULATION.layout.dim), elements=numbers)
    moves = hnp.arrays(np.float64, (2, 4), elements=numbers)
    reward = data.draw(st.sampled_from(REWARDS[MANIPULATION.name]))
    batch = (data.draw(rows), data.draw(moves), data.draw(rows), np.array([True, False]))
    with np.errstate(over="ignore"):
        total, _ = call(reward, MANIPULATION, *batch)
    assert np.all(np.isfinite(total))


def test_sources_read_nothing_but_numpy_and_their_own_names():
    for brief in BRIEFS.values():
        for proposal in BuiltinCoder().propose(request(brief, n=50)):
            tree = ast.parse(proposal.source)
            bound = {
                node.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Name | ast.arg) and isinstance(getattr(node, "ctx", None), ast.Store)
            }
            bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
            bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound
            assert read <= {"np"}


def test_lines_stay_short_enough_to_read():
    for proposal in BuiltinCoder().propose(request(MANIPULATION, n=300)):
        assert max(map(len, proposal.source.splitlines())) <= 120


def test_a_staged_reward_reads_like_prose():
    reach = Quantity(kind="distance", field="hand_pos", other="drawer_pos", span=1.0)
    move = Quantity(kind="distance", field="drawer_pos", other="goal_pos", axes=(0, 1), span=0.5)
    genome = Genome(
        (
            Term(shape="exp", weight=1.0, quantity=reach, sharpness=5.0),
            Term(
                shape="progress",
                weight=2.0,
                quantity=move,
                sharpness=10.0,
                gate=Gate(shape="exp", quantity=reach, sharpness=5.0),
            ),
        )
    )
    source = render(genome, MANIPULATION.layout, MANIPULATION.action)
    assert (
        source.partition("def compute_reward")[2]
        == '''\
(state, action, next_state):
    """Return the reward of each row and its components.

    - hand near drawer: pays up to 1, half of it at 0.139 m
    - gated drawer_xy toward goal: pays 2 per 0.05 m gained in this step, and takes it back when
      lost, times hand near drawer
    """
    hand_to_drawer = distance(next_state.hand_pos, next_state.drawer_pos)
    hand_near_drawer = np.exp(-5.0 * hand_to_drawer)
    drawer_xy_to_goal = distance(next_state.drawer_pos[:, :2], next_state.goal_pos[:, :2])
    drawer_xy_to_goal_before = distance(state.drawer_pos[:, :2], state.goal_pos[:, :2])
    drawer_xy_toward_goal = np.clip(20.0 * (drawer_xy_to_goal_before - drawer_xy_to_goal), -100.0, 100.0)
    components = {
        "hand near drawer": 1.0 * hand_near_drawer,
        "gated drawer_xy toward goal": 2.0 * hand_near_drawer * drawer_xy_toward_goal,
    }
    return np.sum([*components.values()], axis=0), components
'''
    )


def test_a_distance_may_skip_the_middle_axis():
    apart = Quantity(kind="distance", field="hand_pos", other="goal_pos", axes=(0, 2))
    source = render(
        Genome((Term(shape="linear", weight=1.0, quantity=apart),)), MANIPULATION.layout, ActionSpec(dim=4)
    )
    assert "distance(next_state.hand_pos[:, [0, 2]], next_state.goal_pos[:, [0, 2]])" in source


def test_effort_is_relative_to_the_bounds_of_the_action():
    source = render(
        Genome((Term(shape="effort", weight=0.1),)),
        MANIPULATION.layout,
        ActionSpec(dim=1, low=(-2.0,), high=(2.0,)),
    )
    reward = compile_reward(source)
    batch = states(MANIPULATION, np.random.default_rng(0), 2)
    total, _ = call(reward, MANIPULATION, batch, np.array([[2.0], [0.0]]), batch, np.zeros(2, bool))
    np.testing.assert_allclose(total, [-0.1, 0.0])
