"""Names, kinds and units guessed from words."""

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardsmith.contract.sources import check_field_name
from rewardsmith.services.tasks.drafting.wording import as_name, kind_of, slug, unit_of, without_axis

UNITS = {
    "angle (rad)": "rad",
    "velocity (m/s)": "m/s",
    "height (1 is up)": "",
    "velocity (v)": "",
    "torque (N m)": "N m",
    "nothing": "",
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("angle of the back thigh", "back_thigh_angle"),
        ("velocity of the x-coordinate of the torso", "torso_x_velocity"),
        ("End effector position in global coordinates", "end_effector_position"),
        ("1 if the door is open, otherwise -1", "door_open"),
        ("Cart Position", "cart_position"),
        ("of the", ""),
    ],
)
def test_a_description_becomes_a_short_name(text, name):
    assert slug(text) == name


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("angular velocity (rad/s)", "velocity"),
        ("angle (rad)", "angle"),
        ("position (m)", "position"),
        ("Cosine of the angle of the first arm", "orientation"),
        ("whether the leg touches", "flag"),
        ("x-coordinate of the tip", "position"),
        ("temperature", "scalar"),
    ],
)
def test_words_tell_the_kind_of_quantity(text, kind):
    assert kind_of(text) == kind


def test_what_the_unit_says_comes_before_what_the_description_says():
    assert kind_of("angle (rad)", "position of the joint") == "angle"
    assert kind_of("", "position of the joint") == "position"


def test_units_stand_in_brackets():
    assert [unit_of(t) for t in UNITS] == list(UNITS.values())


def test_the_axes_of_one_vector_become_alike():
    texts = ("x position of the hand", "y position of the hand", "z position of the hand")
    assert {without_axis(text) for text in texts} == {"position of the hand"}
    assert without_axis("block velocity in x direction") == "block velocity"
    assert without_axis("velocity of the x-coordinate of the torso") == "velocity of the torso"
    assert without_axis("x-value of tip - target") == "tip - target"


@given(
    st.lists(
        st.text(max_size=40) | st.sampled_from([*keyword.kwlist, "terminated", "np", "7", ""]), max_size=8
    )
)
def test_every_text_becomes_a_name_that_reward_code_can_read(texts):
    taken: set[str] = set()
    names = [as_name(text, taken) for text in texts]
    assert len(set(names)) == len(names)
    for name in names:
        assert check_field_name(name) == name
