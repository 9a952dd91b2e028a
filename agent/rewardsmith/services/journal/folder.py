"""Run folders: how they are made, found, opened and locked."""

import difflib
import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import yaml

from rewardsmith.errors import RunFolderError
from rewardsmith.services.journal.events import SCHEMA_VERSION, JsonObject
from rewardsmith.services.journal.files import (
    TEMPORARY_PREFIX,
    make_folder,
    storage_error,
    write_json_atomic,
    write_text_atomic,
)
from rewardsmith.services.journal.journal import Journal
from rewardsmith.services.journal.objects import ObjectStore

__all__ = [
    "DEFAULT_ROOT",
    "RunFolder",
    "find_run",
    "list_runs",
    "write_json_atomic",
    "write_text_atomic",
]

DEFAULT_ROOT = Path("runs")
"""Where runs are written and looked for unless the user says otherwise."""

_CONFIG_FILE = "run.yaml"
LOCK_FILE = "lock"


class RunFolder:
    """One run on disk: its configuration, journal, objects and lock.

    Make one with `create` or `open`.

    Attributes:
        path: the folder.
        config: the whole resolved configuration, as it stands in `run.yaml` beside `schema_version`.
        objects: the store of large outputs.
    """

    def __init__(self, path: Path, config: JsonObject) -> None:
        self.path = path
        self.config = config
        self.objects = ObjectStore(path / "objects")

    @property
    def name(self) -> str:
        """The folder's name, by which users find the run."""
        return self.path.name

    @property
    def journal_path(self) -> Path:
        """Where the journal lies, for `read_events`."""
        return self.path / "journal.jsonl"

    @classmethod
    def create(cls, root: Path, name: str | None, config: JsonObject) -> Self:
        """Create a new run folder; nothing that exists is overwritten.

        Args:
            root: the folder of runs; created where it is missing.
            name: of the new folder, or a path of its own; None makes one of task, time and chance.
            config: the whole resolved configuration, ready for JSON; its `task` names the folder.

        Raises:
            RunFolderError: the folder exists and is not empty, or is a file.
            StorageError: the disk is full or not writable.
            TypeError: `config` holds something that JSON has no form for.
            ValueError: `config` holds NaN or an infinity.
        """
        config = json.loads(json.dumps(config, allow_nan=False))
        path = root / (_new_name(config) if name is None else name)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunFolderError(f"{path} exists and is not an empty folder; choose another name")
        make_folder(path)
        try:
            (path / LOCK_FILE).touch(exist_ok=False)
        except FileExistsError as error:
            raise RunFolderError(f"{path} was just made by another process; choose another name") from error
        except OSError as error:
            raise storage_error(error, path) from error
        document = {"schema_version": SCHEMA_VERSION, **config}
        write_text_atomic(path / _CONFIG_FILE, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
        return cls(path, config)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing run folder; takes no lock.

        Raises:
            RunFolderError: it is not a run folder, is damaged, or was written by a newer version.
        """
        file = path / _CONFIG_FILE
        try:
            config = yaml.safe_load(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise RunFolderError(
                f"{path} is not a run folder: cannot read {file}: {error.strerror}"
            ) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())
            raise RunFolderError(f"{file} is damaged: it is not YAML: {reason}") from error
        version = config.pop("schema_version", None) if isinstance(config, dict) else None
        if not isinstance(version, int):
            raise RunFolderError(f"{file} is damaged: it has no schema_version")
        if version > SCHEMA_VERSION:
            raise RunFolderError(
                f"{path} was written by a newer rewardsmith (schema_version {version}; this one reads up to "
                f"{SCHEMA_VERSION}); upgrade rewardsmith"
            )
        return cls(path, config)

    @contextmanager
    def writer(self, *, clock: Callable[[], float] = time.time) -> Iterator[Journal]:
        """Hold the folder's lock and its journal, open for writing, while the block runs.

        Args:
            clock: tells the time of events, in Unix seconds.

        Raises:
            RunFolderError: another process holds the lock, or the journal is damaged or newer.
            StorageError: the disk is full or not writable.
        """
        with self._lock():
            self._remove_leftovers()
            with Journal(self.journal_path, clock=clock) as journal:
                yield journal

    @contextmanager
    def _lock(self) -> Iterator[None]:
        # The kernel drops the lock with its last holder, however that ends. The descriptor is not inherited
        # across exec, so that a worker which outlives a killed driver does not hold it.
        path = self.path / LOCK_FILE
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise storage_error(error, path) from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
                who = f"process {holder}" if holder else "another process"
                raise RunFolderError(f"run {self.name} is in use by {who}; wait for it or stop it") from error
            except OSError as error:
                raise storage_error(error, path) from error
            _write_holder(descriptor, path)
            yield
        finally:
            os.close(descriptor)

    def _remove_leftovers(self) -> None:
        """Remove what a killed writer had half written."""
        for file in self.path.rglob(f"{TEMPORARY_PREFIX}*"):
            with suppress(OSError):
                file.unlink()


def list_runs(root: Path = DEFAULT_ROOT) -> list[Path]:
    """Return the run folders in `root`, newest first; empty where there is no such folder."""
    # `run.yaml` is written once, when the run is made.
    runs = [(file.stat().st_mtime_ns, file.parent) for file in root.glob(f"*/{_CONFIG_FILE}")]
    return [path for _, path in sorted(runs, reverse=True)]


def find_run(root: Path, text: str) -> Path:
    """Return the run folder that `text` means: its path, its name in `root`, or a unique prefix of that.

    Raises:
        RunFolderError: no run, or more than one, is meant.
    """
    path = Path(text)
    if text and (path / _CONFIG_FILE).is_file():
        # A relative path such as `.` has no name.
        return path if path.name else path.resolve()
    runs = {run.name: run for run in list_runs(root)}
    if text in runs:
        return runs[text]
    matches = sorted(name for name in runs if text and name.startswith(text))
    if len(matches) == 1:
        return runs[matches[0]]
    if matches:
        raise RunFolderError(
            f"{text!r} could be any of these runs: {', '.join(matches)}; give more of the name"
        )
    near = difflib.get_close_matches(text, runs, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`rewardsmith runs list` shows what there is"
    raise RunFolderError(f"no run {text!r} in {root}; {hint}")


def _new_name(config: JsonObject) -> str:
    task = config.get("task")
    words = re.findall(r"[a-z0-9]+", task.lower()) if isinstance(task, str) else []
    return "-".join([*words, time.strftime("%Y%m%d-%H%M%S"), secrets.token_hex(2)])


def _write_holder(descriptor: int, path: Path) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        raise storage_error(error, path) from error
