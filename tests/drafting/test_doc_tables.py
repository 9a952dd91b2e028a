"""What the docstrings of environments say of their observations."""

import pytest

from rewardsmith.services.tasks.drafting.doc_tables import observation_rows, observation_section

FLAT = """
An environment.

## Action Space
| Num | Action | Min | Max |
| --- | ------ | --- | --- |
| 0   | push   | -1  | 1   |

## Observation Space
Seven numbers, `front` first.

| Num      | Observation            | Min  | Name (in corresponding XML file) | Joint | Type (Unit)    |
| -------- | ---------------------- | ---- | -------------------------------- | ----- | -------------- |
| 0        | angle of the `front`   | -Inf | rootx                            | hinge | angle (rad)    |
| 1        | speed in *x*<sub>1</sub> | -Inf | -                              | slide | velocity (m/s) |
| 2-5      | quaternion of the body | -Inf | none                             | free  |                |
| excluded | never seen             | -Inf | rootz                            | slide | position (m)   |

## Rewards
Never to be read.
| Num | Observation |
| --- | ----------- |
| 0   | pays 10     |
"""


def test_each_number_of_a_table_has_its_words_owner_and_unit():
    rows = observation_rows(FLAT, [])[""]
    assert sorted(rows) == [0, 1, 2, 3, 4, 5]
    assert (rows[0].text, rows[0].owner, rows[0].unit) == ("angle of the front", "rootx", "angle (rad)")
    assert (rows[1].text, rows[1].owner) == ("speed in *x*1", "")
    assert {rows[i].text for i in range(2, 6)} == {"quaternion of the body"}
    assert (rows[3].n_alike, rows[0].n_alike) == (4, 1)


def test_tables_of_a_dict_belong_to_the_key_before_them():
    doc = """
    * `observation`: what it sees
        | Num | Observation |
        | --- | ----------- |
        | 0   | a place     |
    * `desired_goal`: where to
        | Num | Observation |
        | --- | ----------- |
        | 0   | a goal      |
    """
    rows = observation_rows(doc, ["observation", "desired_goal"])
    assert {key: row[0].text for key, row in rows.items()} == {
        "observation": "a place",
        "desired_goal": "a goal",
    }


@pytest.mark.parametrize("doc", ["", "| Num |", "| Num | Observation |\n| a | b |", "|\n|", "no table"])
def test_what_is_no_table_has_no_rows(doc):
    assert observation_rows(doc, []) == {}


def test_the_prose_on_observations_is_taken_and_that_on_rewards_is_not():
    assert observation_section(FLAT) == ["Seven numbers, `front` first."]
    assert observation_section("## Rewards\nof the observation\n## Observations and rewards\nten") == []
    long = "# Observation space\n" + "line\n" * 50
    assert len(observation_section(long)) == 13
    assert observation_section(long)[-1] == "..."
