"""The answering loop, driven through the real client, without a lock or a process."""

import os

import numpy as np
import pytest

from rewardsmith.contract.layout import ActionSpec
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.sandbox.base import RewardSpec
from sandbox.helpers import GOOD, LAYOUT, SPEC, batch, candidate, right_answer, running, wired


def failure(source, rows=4, raw=False):
    with pytest.raises(CandidateError) as caught, running(source, raw=raw) as client:
        client.call(batch(rows))
    return caught.value


@pytest.mark.parametrize("n", [1, 8, 16, 40])
def test_rewards_and_components_are_those_of_the_function(n):
    rows = batch(n)
    with running(GOOD) as client:
        answer = client.call(rows)
    np.testing.assert_allclose(answer.reward, right_answer(rows), rtol=1e-12)
    assert list(answer.components) == ["reach", "effort"]
    np.testing.assert_allclose(sum(answer.components.values()), answer.reward, rtol=1e-12)
    assert answer.cpu_s > 0


def test_answers_of_earlier_calls_do_not_change():
    with running(GOOD) as client:
        first = client.call(batch(4, seed=1))
        kept = first.reward.copy()
        client.call(batch(4, seed=2))
    np.testing.assert_array_equal(first.reward, kept)


def test_an_empty_batch_has_an_empty_answer():
    with running(GOOD) as client:
        client.call(batch(2))
        answer = client.call(batch(0))
        assert client.potential(np.empty((0, 4))).shape == (0,)
    assert answer.reward.shape == (0,)
    assert list(answer.components) == ["reach", "effort"]


@pytest.mark.parametrize("n", [1, 40])
def test_potential_is_that_of_the_function(n):
    state = batch(n).state
    with running(GOOD) as client:
        assert client.has_potential
        np.testing.assert_array_equal(client.potential(state), 2.0 * state[:, 3])


def test_a_candidate_without_potential_says_so():
    with running(candidate("return state.speed, {}")) as client:
        assert not client.has_potential
        with pytest.raises(CandidateError, match="no function potential"):
            client.potential(batch(2).state)


def test_a_wrong_potential_is_a_bad_answer():
    source = candidate("return state.speed, {}") + "def potential(state):\n    return 1.0\n"
    with running(source) as client, pytest.raises(CandidateError) as caught:
        client.potential(batch(2).state)
    assert caught.value.code is FailureCode.BAD_ANSWER


def test_discrete_actions_are_integers():
    spec = RewardSpec(layout=LAYOUT, action=ActionSpec(dim=1, discrete=True), max_rows=8)
    rows = batch(3)
    rows = type(rows)(
        state=rows.state,
        action=np.array([[2], [0], [1]]),
        next_state=rows.next_state,
        terminated=rows.terminated,
    )
    source = candidate("assert action.dtype == np.int64\nreturn action[:, 0], {}")
    with running(source, spec) as client:
        np.testing.assert_array_equal(client.call(rows).reward, [2.0, 0.0, 1.0])


def test_terminated_is_boolean_and_only_in_the_next_state():
    rows = batch(6)
    with running(candidate("return next_state.terminated, {}")) as client:
        np.testing.assert_array_equal(client.call(rows).reward, rows.terminated.astype(float))
    error = failure(candidate("return state.terminated, {}"))
    assert "no field 'terminated'" in error.message


def test_many_batch_sizes_and_component_counts_are_answered():
    spec = RewardSpec(layout=LAYOUT, action=ActionSpec(dim=2), max_rows=100)
    with running(GOOD, spec) as client:
        for n in (*range(1, 80), 1):
            assert len(client.call(batch(n)).reward) == n


@pytest.mark.parametrize(
    ("source", "code", "text"),
    [
        ("def f(:", FailureCode.SYNTAX, "line 1"),
        ("x = '\0'", FailureCode.SYNTAX, "null"),
        ("x = " + "(" * 300 + ")" * 300, FailureCode.SYNTAX, "nested"),
        ("x = " + "-" * 100_000 + "1", FailureCode.SYNTAX, "nested too deeply"),
        ("x = 1", FailureCode.SIGNATURE, "compute_reward"),
        ("compute_reward = 3", FailureCode.SIGNATURE, "compute_reward"),
        ("import os", FailureCode.RAISED, "only numpy and math"),
        ("x = open", FailureCode.RAISED, "line 1: x = open"),
        ("x = 1\nx = [0] * 10**13", FailureCode.MEMORY, "line 2"),
    ],
)
def test_a_module_that_does_not_load_is_typed(source, code, text):
    error = failure(source)
    assert error.code is code
    assert text in error.message


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ("x = {}\nreturn x['k'], {}", FailureCode.RAISED, "KeyError: 'k'\n  line 3: return x['k'], {}"),
        ("state.speed = 1", FailureCode.RAISED, "cannot be changed"),
        ("state.pos[0] = 1", FailureCode.RAISED, "read-only"),
        ("return state.nothing, {}", FailureCode.RAISED, "the fields are pos, speed"),
        ("return state.speed", FailureCode.BAD_ANSWER, "not numpy.ndarray"),
        ("return state.speed, {}, 1", FailureCode.BAD_ANSWER, "not 3"),
        ("return 1.0, {}", FailureCode.BAD_ANSWER, "not float"),
        ("return state.speed[:1], {}", FailureCode.BAD_ANSWER, "one value per row"),
        ("return state.pos, {}", FailureCode.BAD_ANSWER, "(4, 3)"),
        ("return state.speed * 1j, {}", FailureCode.BAD_ANSWER, "complex128"),
        ("return state.speed, []", FailureCode.BAD_ANSWER, "dict"),
        ("return state.speed, {1: state.speed}", FailureCode.BAD_ANSWER, "must be str"),
        ("return state.speed, {'a': 1}", FailureCode.BAD_ANSWER, "component 'a'"),
        ("return state.speed, {'a-b': state.speed}", FailureCode.BAD_ANSWER, "'a-b'"),
        ("return state.speed, {str(i): state.speed for i in range(40)}", FailureCode.BAD_ANSWER, "40"),
        ("return state.speed, {'a' * 9000: state.speed}", FailureCode.BAD_ANSWER, "too long"),
        ("return state.speed, {'a': state.speed * np.inf}", FailureCode.NON_FINITE, "a is not finite"),
        ("return state.speed * 1e300, {}", FailureCode.MAGNITUDE, "reward is larger than 1e+06"),
    ],
)
def test_a_call_that_goes_wrong_is_typed(body, code, text):
    error = failure(candidate(body))
    assert error.code is code
    assert text in error.message


def test_raw_exceptions_with_tricks_are_described():
    source = "class E(Exception):\n    def __str__(self): raise ValueError\n" + candidate("raise E")
    assert failure(source, raw=True).message.startswith("E: (its message cannot be read)")
    assert failure(candidate("raise SystemExit(0)"), raw=True).code is FailureCode.EXITED


def test_a_candidate_goes_on_after_it_raised():
    source = candidate("if len(action) == 3:\n    raise ValueError('three')\nreturn state.speed, {}")
    with running(source) as client:
        with pytest.raises(CandidateError, match="three"):
            client.call(batch(3))
        assert client.call(batch(4)).reward.shape == (4,)


def test_float32_and_integers_are_accepted():
    body = "n = len(action)\nreturn np.ones(n, dtype=np.float32), {'i': np.arange(n), 'b': state.speed > 0}"
    with running(candidate(body)) as client:
        answer = client.call(batch(3))
    assert answer.reward.dtype == np.float64
    np.testing.assert_array_equal(answer.components["i"], [0.0, 1.0, 2.0])


def test_names_that_change_are_refused_and_shown():
    source = "calls = []\n" + candidate(
        "calls.append(1)\nreturn state.speed, {f'c{len(calls)}': state.speed}"
    )
    with running(source) as client:
        client.call(batch(2))
        with pytest.raises(CandidateError, match=r"from \(c1\) to \(c2\)"):
            client.call(batch(2))


def test_large_but_allowed_numbers_pass():
    spec = RewardSpec(layout=LAYOUT, action=ActionSpec(dim=2), max_rows=16)
    with running(candidate("return np.full(len(action), -1e6), {}"), spec) as client:
        assert client.call(batch(16)).reward.min() == -1e6


def test_a_state_shows_its_fields_and_refuses_deletion():
    assert "state(pos, speed)" in failure(candidate("raise ValueError(str(state))")).message
    assert "cannot be changed" in failure(candidate("del state.pos")).message


def test_a_client_continues_where_another_stopped():
    with running(GOOD) as client:
        client.call(batch(2))
        wire = client.wire()
        other = type(client).from_wire(wire, [os.dup(fd) for fd in client.fds])
        assert other.spec.layout.wire() == LAYOUT.wire()
        assert other.has_potential
        np.testing.assert_allclose(other.call(batch(5)).reward, right_answer(batch(5)), rtol=1e-12)
        other.close()
        other.close()


@pytest.mark.parametrize("what", ["state", "action", "next_state", "terminated"])
def test_rows_of_another_shape_are_a_callers_mistake(what):
    good = batch(2)
    parts = {name: getattr(good, name) for name in ("state", "action", "next_state", "terminated")}
    parts[what] = np.zeros((2, 9))
    with running(GOOD) as client:
        with pytest.raises(ValueError, match="the layout needs"):
            client.call(type(good)(**parts))
        with pytest.raises(ValueError, match="the layout needs"):
            client.potential(np.zeros((2, 9)))


def test_a_view_that_outlives_its_client_does_no_harm():
    with wired(SPEC) as (client, _):
        view = client._make_views(2).state
        client.close()
        assert view.shape == (2, 4)
