"""The store of judged trajectories, and its files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardsmith.arrays import dump_arrays, load_arrays
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.trajectories import dump_trajectories, load_trajectories
from stages.made_up import LAYOUT, trajectory


def store(*trajectories):
    return TrajectoryStore(tuple(trajectories), ("ref",))


def test_a_store_grows_at_its_end_and_stays_what_it_was():
    first, second = trajectory(1.0), trajectory(2.0)
    before = store(first)
    after = before.grown([second], "other")
    assert (after.trajectories, after.refs) == ((first, second), ("ref", "other"))
    assert (before.trajectories, before.refs) == ((first,), ("ref",))


def test_transitions_join_states_within_an_episode_and_never_across_two():
    rows = store(trajectory(length=2, terminated=True), trajectory(length=1, first=100.0)).transitions
    np.testing.assert_array_equal(rows.state, [[0, 1, 2], [3, 4, 5], [100, 101, 102]])
    np.testing.assert_array_equal(rows.next_state, [[3, 4, 5], [6, 7, 8], [103, 104, 105]])
    np.testing.assert_array_equal(rows.action, [[0], [1], [100]])
    np.testing.assert_array_equal(rows.terminated, [False, True, False])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_a_return_is_the_sum_over_its_own_episode(lengths):
    episodes = store(*(trajectory(length=n) for n in lengths))
    reward = np.arange(1.0, sum(lengths) + 1)
    ends = np.cumsum(lengths)
    expected = [reward[end - n : end].sum() for end, n in zip(ends, lengths, strict=True)]
    np.testing.assert_array_equal(episodes.returns(reward), expected)


def test_fitness_and_progress_stand_in_the_order_of_the_episodes():
    both = store(trajectory(2.0, 0.5), trajectory(1.0, 0.7))
    np.testing.assert_array_equal(both.fitness, [2.0, 1.0])
    np.testing.assert_array_equal(both.progress, [0.5, 0.7])
    assert store(trajectory(1.0)).progress is None


def test_a_small_store_is_ranked_on_whole():
    whole = store(trajectory(1.0), trajectory(2.0))
    assert whole.ranking_choice(2) is whole


def test_a_ranking_choice_is_even_from_worst_to_best():
    rng = np.random.default_rng(0)
    whole = store(*(trajectory(float(x), length=1) for x in rng.permutation(101)))
    chosen = whole.ranking_choice(11)
    assert sorted(chosen.fitness) == list(range(0, 101, 10))
    assert chosen.refs == whole.refs
    place = {id(t): i for i, t in enumerate(whole.trajectories)}
    order = [place[id(t)] for t in chosen.trajectories]
    assert order == sorted(order), "the order of the store is kept"


def test_a_ranking_choice_looks_at_progress_where_fitness_is_equal():
    whole = store(*(trajectory(0.0, x / 10, length=1) for x in (5, 9, 0, 3, 7)))
    assert sorted(whole.ranking_choice(3).progress) == [0.0, 0.5, 0.9]


def test_a_ranking_choice_is_always_the_same():
    whole = store(*(trajectory(float(i % 3), length=1) for i in range(20)))
    assert whole.ranking_choice(7).trajectories == whole.ranking_choice(7).trajectories


def test_a_sample_is_drawn_by_its_seed_without_repeating_a_row():
    whole = store(trajectory(length=200), trajectory(length=200, first=1e6))
    sample, again, other = whole.sample(64, seed=1), whole.sample(64, seed=1), whole.sample(64, seed=2)
    assert len(sample) == len({row.tobytes() for row in sample.state}) == 64
    np.testing.assert_array_equal(sample.state, again.state)
    assert not np.array_equal(sample.state, other.state)
    assert len(whole.sample(1000, seed=0)) == 400


def test_a_sample_has_a_few_terminated_rows_even_where_no_episode_ended():
    whole = store(trajectory(length=200))
    assert whole.sample(64, seed=0).terminated.sum() == 8
    assert whole.sample(3, seed=0).terminated.any()
    assert not whole.transitions.terminated.any(), "the store itself is left as it is"


def test_a_sample_keeps_the_rows_that_did_terminate():
    whole = store(*(trajectory(length=1, terminated=True, first=float(i)) for i in range(30)))
    assert whole.sample(16, seed=0).terminated.all()


def test_ranges_cover_every_state_of_a_field():
    both = store(trajectory(length=1), trajectory(length=1, first=-10.0))
    assert both.ranges(LAYOUT) == {"pos": (-10.0, 4.0), "speed": (-8.0, 5.0)}


def test_trajectories_survive_their_file():
    before = [
        trajectory(0.25, 0.5, length=2, success=True, success_last=False, terminated=True, origin="i01c02/4"),
        trajectory(-1.5, None, length=4, first=7.0),
        trajectory(0.0, 1.0, length=1, success=False, success_last=True),
    ]
    after = load_trajectories(dump_trajectories(before))
    assert len(after) == len(before)
    for a, b in zip(after, before, strict=True):
        np.testing.assert_array_equal(a.state, b.state)
        np.testing.assert_array_equal(a.action, b.action)
        for name in ("terminated", "fitness", "progress", "success", "success_last", "origin"):
            assert getattr(a, name) == getattr(b, name)
            assert type(getattr(a, name)) is type(getattr(b, name))


def test_discrete_actions_stay_integers():
    one = trajectory(length=2)
    one = type(one)(**{name: getattr(one, name) for name in one.__slots__} | {"action": np.array([[0], [1]])})
    assert load_trajectories(dump_trajectories([one]))[0].action.dtype == np.int64


def test_the_same_arrays_give_the_same_bytes(monkeypatch):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False])}
    first = dump_arrays(arrays)
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert dump_arrays({name: array.copy(order="F") for name, array in arrays.items()}) == first
    assert dump_arrays(arrays | {"b": np.array([True, True])}) != first


def test_arrays_survive_their_file():
    arrays = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.zeros((0, 2), dtype=np.int64)}
    for name, array in load_arrays(dump_arrays(arrays)).items():
        np.testing.assert_array_equal(array, arrays[name])
        assert array.dtype == arrays[name].dtype


def test_no_file_holds_a_pickle():
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        dump_arrays({"a": np.array([object()])})


def test_part_of_a_batch_is_a_batch():
    rows = store(trajectory(length=5, terminated=True)).transitions
    part = rows.take([4, 0])
    assert len(part) == 2
    np.testing.assert_array_equal(part.action, [[4], [0]])
    np.testing.assert_array_equal(part.terminated, [True, False])
    np.testing.assert_array_equal(part.next_state - part.state, np.full((2, 3), 3.0))
