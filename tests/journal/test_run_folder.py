"""Run folders are made once, found by name, read back as written, and written by one process."""

import json
import os
import re
import subprocess
import sys
import time

import pytest
import yaml

from rewardsmith.errors import RunFolderError
from rewardsmith.services.journal.folder import RunFolder, find_run, list_runs, write_json_atomic
from rewardsmith.services.journal.journal import Effect, read_events

CONFIG = {
    "task": "metaworld/drawer_open",
    "seed": 3,
    "note": "on",
    "rate": 1e-05,
    "goal": "öffne\u2028: #1",
    "x": None,
}

HOLD_LOCK = """
import sys, time
from pathlib import Path
from rewardsmith.services.journal.folder import RunFolder
with RunFolder.open(Path(sys.argv[1])).writer():
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "first", CONFIG)


@pytest.fixture
def holder(folder):
    """Another process that holds the folder's lock."""
    command = [sys.executable, "-c", HOLD_LOCK, str(folder.path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.communicate()


# Making and opening


def test_a_configuration_comes_back_as_it_was_given(folder):
    assert RunFolder.open(folder.path).config == folder.config == CONFIG
    assert yaml.safe_load((folder.path / "run.yaml").read_text())["schema_version"] == 1


def test_a_generated_name_tells_task_and_time(tmp_path):
    folder = RunFolder.create(tmp_path / "runs", None, CONFIG)
    assert re.fullmatch(r"metaworld-drawer-open-\d{8}-\d{6}-[0-9a-f]{4}", folder.name)


def test_a_configuration_without_task_still_gets_a_name(tmp_path):
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", RunFolder.create(tmp_path, None, {}).name)


def test_an_empty_folder_may_become_a_run_and_a_full_one_may_not(tmp_path):
    (tmp_path / "out").mkdir()
    RunFolder.create(tmp_path, str(tmp_path / "out"), CONFIG)
    before = sorted((tmp_path / "out").iterdir())
    with pytest.raises(RunFolderError, match="not an empty folder"):
        RunFolder.create(tmp_path, str(tmp_path / "out"), {"other": 1})
    assert sorted((tmp_path / "out").iterdir()) == before
    assert RunFolder.open(tmp_path / "out").config == CONFIG


def test_a_file_is_not_overwritten_by_a_run(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(RunFolderError, match="not an empty folder"):
        RunFolder.create(tmp_path, "out", CONFIG)


def test_of_two_processes_that_make_the_same_folder_one_fails(tmp_path, monkeypatch):
    def make_it_first(path):
        path.mkdir()
        (path / "lock").touch()

    monkeypatch.setattr("rewardsmith.services.journal.folder.make_folder", make_it_first)
    with pytest.raises(RunFolderError, match="made by another process"):
        RunFolder.create(tmp_path, "same", CONFIG)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a run folder"),
        ("a: [", "is not YAML"),
        ("- a", "has no schema_version"),
        ("a: 1", "has no schema_version"),
        ("schema_version: 2", "written by a newer rewardsmith"),
    ],
)
def test_what_is_not_a_run_folder_of_this_version_is_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "run.yaml").write_text(content)
    with pytest.raises(RunFolderError, match=message) as caught:
        RunFolder.open(tmp_path)
    assert "\n" not in str(caught.value)


def test_json_is_written_over_what_was_there(tmp_path):
    path = tmp_path / "result.json"
    write_json_atomic(path, {"best": 1})
    write_json_atomic(path, {"best": 2})
    assert json.loads(path.read_text()) == {"best": 2}
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_former_content(tmp_path):
    path = tmp_path / "result.json"
    write_json_atomic(path, {"best": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json_atomic(path, {"best": float("nan")})
    assert json.loads(path.read_text()) == {"best": 1}
    assert list(tmp_path.iterdir()) == [path]


# The lock


def test_the_writer_records_into_the_folder(folder):
    with folder.writer(clock=lambda: 5.0) as journal:
        journal.effect(Effect(key="a", request={}, run=lambda: {"object": folder.objects.put_bytes(b"x")}))
    answer = list(read_events(folder.journal_path))[-1]
    assert folder.objects.get_bytes(answer.data["object"]) == b"x"
    assert answer.time == 5.0


def test_a_folder_in_use_is_refused_with_the_process_that_uses_it(folder, holder):
    with (
        pytest.raises(RunFolderError, match=f"run first is in use by process {holder.pid}; wait"),
        folder.writer(),
    ):
        pass
    assert [event.type for event in read_events(folder.journal_path)] == ["header"]


def test_the_lock_of_a_killed_process_is_free(folder, holder):
    holder.kill()
    holder.wait()
    with folder.writer() as journal:
        journal.decide("a", {})


def test_one_process_cannot_open_a_folder_for_writing_twice(folder):
    with folder.writer(), pytest.raises(RunFolderError, match=f"process {os.getpid()}"), folder.writer():
        pass
    with folder.writer():
        pass


def test_half_written_files_of_a_killed_writer_are_removed(folder):
    leftover = folder.path / "objects" / "ab" / ".tmp-0123"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    with folder.writer():
        assert not leftover.exists()


# Finding


def make_runs(root, *names):
    for age, name in enumerate(names):
        path = RunFolder.create(root, name, CONFIG).path
        written = time.time() - age
        os.utime(path / "run.yaml", (written, written))


def test_runs_are_listed_newest_first_and_other_folders_are_not(tmp_path):
    make_runs(tmp_path, "b", "c", "a")
    (tmp_path / "other").mkdir()
    assert [path.name for path in list_runs(tmp_path)] == ["b", "c", "a"]


def test_a_root_that_does_not_exist_has_no_runs(tmp_path):
    assert list_runs(tmp_path / "none") == []


@pytest.mark.parametrize("text", ["cartpole-2", "cartpole-20", "cartpole-2024"])
def test_a_run_is_found_by_name_or_unique_prefix(tmp_path, text):
    make_runs(tmp_path, "cartpole-2024", "cartpole", "hopper")
    assert find_run(tmp_path, text) == tmp_path / "cartpole-2024"


def test_a_whole_name_wins_over_longer_ones(tmp_path):
    make_runs(tmp_path, "cartpole-2024", "cartpole")
    assert find_run(tmp_path, "cartpole") == tmp_path / "cartpole"


def test_a_run_is_found_by_its_path(tmp_path, monkeypatch):
    make_runs(tmp_path, "one")
    assert find_run(tmp_path / "elsewhere", str(tmp_path / "one")) == tmp_path / "one"


def test_an_ambiguous_prefix_names_the_matches(tmp_path):
    make_runs(tmp_path, "cart-b", "cart-a", "hopper")
    with pytest.raises(RunFolderError, match="cart-a, cart-b; give more"):
        find_run(tmp_path, "cart")


def test_an_unknown_run_names_what_is_near(tmp_path):
    make_runs(tmp_path, "cartpole")
    with pytest.raises(RunFolderError, match=r"no run 'catpole' in .*; did you mean cartpole\?"):
        find_run(tmp_path, "catpole")


@pytest.mark.parametrize("text", ["zzz", ""])
def test_an_unknown_run_with_nothing_near_points_to_the_list(tmp_path, text):
    make_runs(tmp_path, "cartpole")
    with pytest.raises(RunFolderError, match="runs list"):
        find_run(tmp_path, text)


def test_importing_run_folders_is_light():
    code = "import sys, rewardsmith.services.journal.folder; print({'numpy', 'torch'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "set()\n"
