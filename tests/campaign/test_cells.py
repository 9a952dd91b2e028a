"""What a campaign consists of, and the names of its run folders."""

import pytest

from rewardsmith.campaign.cells import Variant, make_cells
from rewardsmith.errors import ConfigError

PENDULUM = "classic/pendulum"


def cells(*variants, seeds=(0,), **options):
    parsed = [Variant.parse(text) for text in variants]
    return make_cells(tasks=[PENDULUM], variants=parsed, seeds=seeds, **options)


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("card", Variant("card", "card", ())),
        ("card,gate.rule=none", Variant("card,gate.rule=none", "card", ("gate.rule=none",))),
        (
            "no gate: my/method.yaml,gate.rule=none,train.rungs=[0.5,1.0],stop.iterations=2",
            Variant(
                "no gate", "my/method.yaml", ("gate.rule=none", "train.rungs=[0.5,1.0]", "stop.iterations=2")
            ),
        ),
    ],
)
def test_a_variant_is_a_method_with_keys_changed_under_a_label(text, variant):
    assert Variant.parse(text) == variant


@pytest.mark.parametrize("text", ["", "label: ", "gate.rule=none", "label: gate.rule=none"])
def test_a_variant_without_a_method_is_refused(text):
    with pytest.raises(ConfigError, match=r"expected .*METHOD"):
        Variant.parse(text)


def test_there_is_one_cell_for_each_combination():
    made = cells("rewardsmith", "eureka", seeds=(0, 1, 2))
    assert [(cell.label, cell.seed) for cell in made] == [
        (label, seed) for label in ("rewardsmith", "eureka") for seed in range(3)
    ]
    assert len({cell.folder_name for cell in made}) == 6
    assert {cell.config.workers for cell in made} == {1}


def test_a_label_that_stands_twice_is_refused():
    with pytest.raises(ConfigError, match="'card' stands twice"):
        cells("card", "card")


def test_a_variants_own_settings_come_last():
    (cell,) = cells("rewardsmith,stop.iterations=2", settings=["stop.iterations=7", "train.keep=3"])
    assert (cell.config.method.stop.iterations, cell.config.method.train.keep) == (2, 3)


def test_the_folder_of_a_run_changes_with_all_that_its_result_depends_on():
    (same,), (again,) = cells("rewardsmith"), cells("rewardsmith")
    assert same.folder_name == again.folder_name
    others = [
        cells("rewardsmith", settings=["train.keep=3"]),
        cells("rewardsmith", settings=["task.judge.episodes=3"]),
        cells("rewardsmith", seeds=[1]),
    ]
    assert len({same.folder_name, *(cell.folder_name for (cell,) in others)}) == 4


def test_the_folder_of_a_run_stays_where_only_its_place_changes():
    (cell,) = cells("rewardsmith", sandbox="local")
    (other,) = cells("rewardsmith", sandbox="auto")
    assert cell.folder_name == other.folder_name
