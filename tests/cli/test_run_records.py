import fcntl

import pytest
from cli_runs import SOURCE, confirm, end_run, new_run, searched_run

from rewardsmith.errors import NoWinnerError, RunFolderError
from rewardsmith.loop.records import is_locked, read_proposals, read_run, winner_of


def test_a_run_that_was_cut_off_is_interrupted_and_keeps_its_best(tmp_path):
    record = read_run(searched_run(tmp_path, "a").path)

    assert record.status == "interrupted"
    assert record.best == {"id": "i01c00", "fitness": 0.7, "progress": 0.8}
    assert record.winner_id == "i01c00"


def test_steps_and_trainings_are_summed_over_recorded_effects(tmp_path):
    record = read_run(searched_run(tmp_path, "a").path)

    assert record.env_steps == 3100
    assert record.trainings == 2


def test_an_iteration_tells_who_trained_how_far(tmp_path):
    (iteration,) = read_run(searched_run(tmp_path, "a").path).iterations
    first, second = iteration.trained

    assert (iteration.n_proposed, iteration.failures) == (3, {"raised": 1})
    assert [c["step"] for c in first.checkpoints] == [1000, 2000]
    assert first.end(2) == "trained to the end"
    assert second.end(2) == "stopped after rung 1 of 2"


def test_a_failure_in_training_is_told_with_its_reason(tmp_path):
    (iteration,) = read_run(searched_run(tmp_path, "a", failure="it drifts").path).iterations

    assert iteration.trained[1].end(2) == "failed, drift: it drifts"


def test_proposals_are_found_by_the_id_of_their_candidate(tmp_path):
    proposals = read_proposals(read_run(searched_run(tmp_path, "a").path))

    assert list(proposals) == ["i01c00", "i01c01", "i01c02"]
    assert proposals["i01c01"].parents == ("i00c00",)


def test_the_winner_of_a_result_comes_before_the_best_of_the_search(tmp_path):
    folder = searched_run(tmp_path, "a")
    end_run(folder, "i01c01")

    record = read_run(folder.path)

    assert record.status == "finished"
    assert winner_of(record)[0] == "i01c01"
    assert winner_of(record)[1].source == SOURCE


def test_what_a_budget_left_as_the_best_comes_before_the_last_whole_iteration(tmp_path):
    folder = searched_run(tmp_path, "a")
    with folder.writer() as journal:
        journal.decide("stop", {"reason": "budget", "best": "i01c01"})

    assert read_run(folder.path).winner_id == "i01c01"


def test_a_confirmation_is_told_and_counts_as_a_training(tmp_path):
    folder = searched_run(tmp_path, "a")
    confirm(folder, fitness=0.6)
    record = read_run(folder.path)

    assert record.trainings == 3
    assert record.iterations[0].trained[0].confirmed == {"fitness": 0.6}
    assert record.iterations[0].trained[0].end(2) == "confirmed at full budget"


def test_a_failure_in_a_confirmation_is_told(tmp_path):
    folder = searched_run(tmp_path, "a")
    confirm(folder, fitness=0.6, failure="it drifts")

    assert read_run(folder.path).iterations[0].trained[0].end(2) == "failed, drift: it drifts"


def test_a_run_without_a_training_has_no_winner(tmp_path):
    with pytest.raises(NoWinnerError, match="no winner"):
        winner_of(read_run(new_run(tmp_path, "a").path))


def test_a_result_without_its_file_is_not_finished(tmp_path):
    folder = searched_run(tmp_path, "a")
    end_run(folder, None)
    (folder.path / "result.json").unlink()

    assert read_run(folder.path).status == "interrupted"


def test_a_run_is_running_while_its_lock_is_held_and_reading_leaves_the_lock_alone(tmp_path):
    folder = searched_run(tmp_path, "a")
    before = (folder.path / "lock").read_bytes()

    with folder.writer():
        assert read_run(folder.path).status == "running"
    assert not is_locked(folder.path)
    with (folder.path / "lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert (folder.path / "lock").read_bytes() == before


def test_a_configuration_that_does_not_fit_is_damage(tmp_path):
    folder = new_run(tmp_path, "a")
    file = folder.path / "run.yaml"
    file.write_text(file.read_text().replace("seed: 3", "seed: three"))

    with pytest.raises(RunFolderError, match=r"run\.yaml is damaged: seed"):
        read_run(folder.path)


def test_a_confirmation_in_a_later_iteration_is_told(tmp_path):
    folder = searched_run(tmp_path, "later")
    with folder.writer() as journal:
        journal.decide("i02/confirm", {"judged": {"i01c01": {"fitness": 0.4}}})
    record = read_run(folder.path)
    assert record.iterations[0].trained[1].confirmed == {"fitness": 0.4}


def test_an_error_that_ended_the_process_is_told_until_the_run_goes_on(tmp_path):
    folder = searched_run(tmp_path, "halted")
    with folder.writer() as journal:
        journal.note_stop("the provider is out")
    assert read_run(folder.path).stopped == "the provider is out"
    with folder.writer() as journal:
        journal.decide("i02/select", {"best": "i01c00", "fitness": 0.7, "progress": 0.8})
        journal.note_stop("again")
    assert read_run(folder.path).stopped == "again"
