"""The fixed layout of a state vector."""

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout

LAYOUT = StateLayout(
    (
        StateField(name="pos", shape=(3,), unit="m"),
        StateField(name="speed"),
        StateField(name="frame", shape=(2, 2)),
    )
)


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


def test_names_and_shapes_survive_the_wire():
    again = StateLayout.from_wire(LAYOUT.wire())
    assert [(f.name, f.shape) for f in again.fields] == [(f.name, f.shape) for f in LAYOUT.fields]


def test_discrete_actions_are_integers():
    assert ActionSpec(dim=1, discrete=True).dtype == np.int64
    assert ActionSpec(dim=2).dtype == np.float64
