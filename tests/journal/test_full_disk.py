"""Where the disk refuses, one clear error is raised and nothing is left half-written."""

import errno
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from rewardsmith.errors import StorageError
from rewardsmith.services.journal.files import storage_error
from rewardsmith.services.journal.folder import RunFolder
from rewardsmith.services.journal.journal import Effect, Journal, read_events
from rewardsmith.services.journal.objects import ObjectStore

SIZE_BYTES = 64 * 1024


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(["mount", *options], capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"cannot mount a small tmpfs: {error}")
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small tmpfs: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def file_size_limit():
    """No file of this process may grow beyond 64 KiB: a write stops in the middle, the next fails."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    former_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE_BYTES, former[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, former)
    signal.signal(signal.SIGXFSZ, former_handler)


def effect(key, n_bytes):
    return Effect(key=key, request={}, run=lambda: {"filling": "x" * n_bytes})


def record_until_refused(path):
    """Return how many answers were recorded before the disk refused, and the error."""
    with Journal(path) as journal:
        for n_answers in range(100):
            try:
                journal.effect(effect(f"e{n_answers}", 5000))
            except StorageError as error:
                return n_answers, str(error)
    raise AssertionError("the disk never refused")


def check_answers(path, n_answers):
    assert path.read_bytes().endswith(b"\n")
    assert sum(event.type == "answer" for event in read_events(path)) == n_answers


def test_a_full_disk_stops_the_journal_with_a_whole_last_line(small_disk):
    path = small_disk / "journal.jsonl"
    n_answers, message = record_until_refused(path)
    assert n_answers >= 5
    assert message == (
        f"the disk is full: cannot write {path}; free space and run `rewardsmith resume {small_disk}`"
    )
    check_answers(path, n_answers)


def test_a_run_goes_on_once_there_is_space(small_disk):
    filling = small_disk / "filling"
    filling.write_bytes(bytes(SIZE_BYTES // 2))
    path = small_disk / "journal.jsonl"
    n_answers, _ = record_until_refused(path)
    filling.unlink()
    with Journal(path) as journal:
        journal.effect(effect(f"e{n_answers}", 5000))
    check_answers(path, n_answers + 1)


def test_a_full_disk_leaves_no_part_of_an_object(small_disk):
    store = ObjectStore(small_disk / "objects")
    with pytest.raises(StorageError, match=r"the disk is full: cannot write .*objects.*; free space"):
        store.put_bytes(bytes(2 * SIZE_BYTES))
    assert [path for path in small_disk.rglob("*") if path.is_file()] == []


def test_a_line_that_is_refused_in_the_middle_is_cut_back(tmp_path, file_size_limit):
    path = tmp_path / "journal.jsonl"
    n_answers, message = record_until_refused(path)
    assert message.startswith(f"cannot write {path}: File too large; mend that and run `rewardsmith resume")
    assert n_answers >= 5
    check_answers(path, n_answers)


def test_parallel_effects_end_with_the_storage_error(tmp_path, file_size_limit):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal, pytest.raises(StorageError):
        journal.effects([effect(f"e{n}", 5000) for n in range(40)], workers=3)
    answers = [event.key for event in read_events(path) if event.type == "answer"]
    check_answers(path, len(answers))
    assert len(answers) >= 5


def test_a_line_that_cannot_be_cut_back_ends_the_writing(tmp_path, monkeypatch, file_size_limit):
    path = tmp_path / "journal.jsonl"

    def refuse(*_):
        raise OSError(errno.EIO, "Input/output error")

    with Journal(path) as journal:
        monkeypatch.setattr(os, "ftruncate", refuse)
        with pytest.raises(StorageError):
            journal.effect(effect("a", 2 * SIZE_BYTES))
        monkeypatch.undo()
        with pytest.raises(Exception, match="closed"):
            journal.decide("b", {})
    with Journal(path) as journal:
        journal.decide("b", {})
    assert [event.type for event in read_events(path)] == ["header", "request", "decision"]


@pytest.fixture
def missing(tmp_path):
    return tmp_path / "missing"


def test_a_folder_that_is_gone_is_a_storage_error(missing):
    with pytest.raises(StorageError, match="No such file"):
        Journal(missing / "journal.jsonl")
    with pytest.raises(StorageError, match="No such file"), RunFolder(missing, {}).writer():
        pass


def test_a_run_folder_below_a_file_is_a_storage_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="Not a directory"):
        RunFolder.create(tmp_path / "file", "run", {})


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (errno.ENOSPC, "the disk is full: cannot write a/b; free space and try again"),
        (errno.EDQUOT, "the disk is full: cannot write a/b; free space and try again"),
        (errno.EROFS, "cannot write a/b: Read-only file system; make it writable and try again"),
        (errno.EACCES, "cannot write a/b: Permission denied; make it writable and try again"),
        (errno.EIO, "cannot write a/b: Input/output error; mend that and try again"),
    ],
)
def test_every_refusal_says_what_to_do_in_one_line(code, text):
    assert str(storage_error(OSError(code, os.strerror(code)), Path("a/b"))) == text


def refuse_locks(*_, **__):
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("call", ["fcntl.flock", "os.pwrite"])
def test_a_lock_that_cannot_be_taken_is_a_storage_error(tmp_path, monkeypatch, call):
    folder = RunFolder.create(tmp_path, "run", {})
    monkeypatch.setattr(call, refuse_locks)
    with pytest.raises(StorageError, match="No locks available"), folder.writer():
        pass


def test_a_lock_that_cannot_be_made_is_a_storage_error(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "touch", refuse_locks)
    with pytest.raises(StorageError, match="No locks available"):
        RunFolder.create(tmp_path, "run", {})
