"""What was measured of a task, and what it says about rewards."""

import pytest

from rewardsmith.campaign.measuring import measure_task, measuring_config
from rewardsmith.errors import TaskError
from rewardsmith.loop.reporter import SilentReporter
from rewardsmith.services.tasks.catalog import find_task_folders, load_task
from rewardsmith.services.tasks.measured import (
    MEASURED_FILE,
    REFERENCE_FILE,
    Figure,
    bare_baseline,
    is_current,
    measured_yaml,
    read_measured,
    reference_file,
    verdict,
)


def figure(iqm, low, high):
    return Figure(iqm=iqm, low=low, high=high)


GOOD = figure(0.9, 0.8, 1.0)


@pytest.mark.parametrize(
    ("fitness", "bare", "seeds", "expected", "why"),
    [
        ({"reference": GOOD, "sparse": figure(0.3, 0.1, 0.5)}, "sparse", 5, True, "is above sparse"),
        (
            {"reference": figure(0.9, 0.4, 1.0), "sparse": figure(0.3, 0.1, 0.5)},
            "sparse",
            5,
            False,
            "not above",
        ),
        ({"reference": GOOD, "zero": figure(0.0, 0.0, 0.1)}, "zero", 5, True, "is above zero"),
        (
            {"reference": GOOD, "sparse": GOOD, "zero": figure(0, 0, 0)},
            "sparse",
            5,
            False,
            "not above sparse",
        ),
        ({"reference": GOOD, "sparse": figure(0, 0, 0)}, "sparse", 4, False, "fewer than 5 seeds"),
        ({"sparse": figure(0.3, 0.1, 0.5)}, "sparse", 5, False, "a training of reference failed"),
        ({"reference": GOOD, "zero": figure(0, 0, 0)}, "sparse", 5, False, "a training of sparse failed"),
    ],
)
def test_rewards_matter_where_the_reference_is_clearly_above_the_bare_baseline(
    fitness, bare, seeds, expected, why
):
    found, reason = verdict(fitness, bare=bare, seeds=seeds)
    assert found is expected
    assert why in reason


def test_a_task_without_a_reference_says_how_to_give_one(toy_task):
    with pytest.raises(TaskError, match=r"toy/walk: there is no reference\.py in .*; write a reward"):
        reference_file(toy_task())


REFERENCE = """
def compute_reward(state, action, next_state):
    return next_state.clock * 1.0, {"clock": next_state.clock * 1.0}
"""


@pytest.mark.slow
def test_what_is_measured_can_be_read_and_goes_stale_with_the_task(toy_task, tmp_path):
    task = toy_task({}, {REFERENCE_FILE: REFERENCE})
    config = measuring_config(task, REFERENCE, REFERENCE_FILE, seeds=2, workers=2, sandbox="local")
    measured = measure_task(config, tmp_path / "runs", SilentReporter(), cores=2)
    assert set(measured.fitness) == {"reference", "human", "sparse", "zero"}
    assert (measured.seeds, measured.total_timesteps) == (2, 64)
    assert measured.wall_s > 0
    assert not measured.discriminates, "whatever is done, the walk goes on"
    again = measure_task(config, tmp_path / "runs", SilentReporter(), cores=2)
    assert again == measured, "a finished run is read, not made again"
    (task.folder / MEASURED_FILE).write_text(measured_yaml(measured))
    assert read_measured(load_task(str(task.folder))) == measured
    assert is_current(measured, task)
    changed = toy_task({"goal": "Walk back."}, {REFERENCE_FILE: REFERENCE})
    assert not is_current(measured, changed)


@pytest.mark.slow
def test_a_reference_that_is_turned_down_measures_nothing(toy_task, tmp_path):
    bad = REFERENCE.replace("next_state.clock * 1.0,", "next_state.clock * float('nan'),")
    config = measuring_config(toy_task(), bad, REFERENCE_FILE, seeds=1, workers=2, sandbox="local")
    with pytest.raises(TaskError, match=r"toy/walk: reference\.py: turned down: "):
        measure_task(config, tmp_path / "runs", SilentReporter(), cores=2)


@pytest.mark.parametrize("name", sorted(find_task_folders()))
def test_every_shipped_task_has_a_reference_and_what_it_was_measured_at_is_of_its_own_version(name):
    task = load_task(name)
    assert reference_file(task).is_file()
    measured = read_measured(task)
    if measured is not None:
        assert is_current(measured, task), "measure it again: rewardsmith task measure"
        found = verdict(measured.fitness, bare=bare_baseline(task.file), seeds=measured.seeds)
        assert found == (measured.discriminates, measured.why)
