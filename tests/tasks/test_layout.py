"""The fixed layout of a state vector."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout

LAYOUT = StateLayout(
    (
        StateField(name="pos", shape=(3,), unit="m"),
        StateField(name="speed"),
        StateField(name="frame", shape=(2, 2)),
    )
)

shapes = st.lists(st.lists(st.integers(1, 3), max_size=3).map(tuple), min_size=1, max_size=5)


def test_fields_lie_one_after_the_other():
    assert LAYOUT.dim == 8
    assert LAYOUT.slices == {"pos": slice(0, 3), "speed": slice(3, 4), "frame": slice(4, 8)}


def test_a_view_has_the_shape_of_its_field_and_shares_memory():
    state = np.arange(16.0).reshape(2, 8)
    view = LAYOUT.view(state)
    np.testing.assert_array_equal(view["pos"], [[0, 1, 2], [8, 9, 10]])
    np.testing.assert_array_equal(view["speed"], [3, 11])
    np.testing.assert_array_equal(view["frame"][1], [[12, 13], [14, 15]])
    assert all(np.shares_memory(values, state) for values in view.values())


@given(shapes)
def test_packing_undoes_viewing(shapes):
    layout = StateLayout(tuple(StateField(name=f"f{i}", shape=shape) for i, shape in enumerate(shapes)))
    row = np.arange(float(layout.dim))
    named = {name: values[0] for name, values in layout.view(row[None]).items()}
    np.testing.assert_array_equal(layout.pack(named), row)


def test_names_and_shapes_survive_the_wire():
    again = StateLayout.from_wire(LAYOUT.wire())
    assert [(f.name, f.shape) for f in again.fields] == [(f.name, f.shape) for f in LAYOUT.fields]


def test_packing_needs_every_field():
    with pytest.raises(KeyError, match="frame"):
        LAYOUT.pack({"pos": np.zeros(3), "speed": 1.0})


def test_discrete_actions_are_integers():
    assert ActionSpec(dim=1, discrete=True).dtype == np.int64
    assert ActionSpec(dim=2).dtype == np.float64
