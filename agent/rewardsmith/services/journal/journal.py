"""The writer of a run's journal: effects are recorded when they are made and answered from it on replay."""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rewardsmith.errors import ReplayMismatchError, RunFolderError, StorageError
from rewardsmith.services.journal.effects import Effect, run_parallel
from rewardsmith.services.journal.events import (
    DATA_FIELDS,
    SCHEMA_VERSION,
    Event,
    JsonObject,
    canonical_hash,
    canonical_json,
    read_events,
    scan,
)
from rewardsmith.services.journal.files import storage_error, sync_folder

__all__ = ["Effect", "Event", "Journal", "JsonObject", "OnAnswer", "read_events"]


STOPPED = "stopped/"
"""Begins the keys under which errors that ended a process are recorded."""

OnAnswer = Callable[[Effect, JsonObject, bool], None]
"""Called with an effect, its answer, and whether that was replayed from the journal."""


class Journal:
    """Appends to one journal; the caller holds the run folder's lock.

    Opening an existing journal cuts off a torn last line. Every event is one write and one fsync, so that a
    kill or a power cut loses the effects in flight and no more.

    Args:
        path: the file; created where it is missing.
        clock: tells the time of events, in Unix seconds.

    Raises:
        RunFolderError: the journal is damaged or written by a newer version.
        StorageError: the disk is full or not writable.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._requests: dict[str, Event] = {}
        self._answers: dict[str, JsonObject] = {}
        self._decisions: dict[str, JsonObject] = {}
        self._descriptor = -1
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def effect(self, effect: Effect) -> JsonObject:
        """Return the recorded answer of `effect`, or run it in this thread and record its answer.

        A live answer is returned as it will be read back from JSON, so that replay cannot differ from it.
        What `effect.run` raises is passed on; the effect then runs again on the next resume.

        Raises:
            ReplayMismatchError: the key is recorded with another request.
            StorageError: the disk is full or not writable.
            TypeError: the request or the answer holds something that JSON has no form for.
            ValueError: the request or the answer holds NaN or an infinity.
        """
        recorded = self._recorded(effect)
        if recorded is not None:
            return recorded
        self._begin(effect)
        return self._finish(effect, effect.run())

    def effects(
        self,
        effects: Sequence[Effect],
        *,
        workers: int,
        on_answer: OnAnswer | None = None,
        cancel: Callable[[], None] | None = None,
    ) -> list[JsonObject]:
        """Return the answers of all `effects` in their order; those that are not recorded run in threads.

        After a first failure nothing more is started, and what is running is awaited and recorded.

        Args:
            effects: started in this order; their keys differ.
            workers: how many run at a time.
            on_answer: called in this thread: for recorded answers in order, then for others as they come.
            cancel: ends the running work. Where this thread is interrupted, it is called and the threads are
                joined; without it the interruption is passed on at once.

        Raises:
            Exception: the first failure, in the order of `effects`: what an effect or `on_answer` raised, or
                what `effect` raises.
            ValueError: two effects share a key.
        """
        if len({effect.key for effect in effects}) != len(effects):
            raise ValueError("effects that run in parallel must have different keys")
        # All requests are verified before the first effect starts: a mismatch must not cost a training.
        answers = {effect.key: self._recorded(effect) for effect in effects}
        waiting = [effect for effect in effects if answers[effect.key] is None]
        if on_answer is not None:
            for effect in effects:
                recorded = answers[effect.key]
                if recorded is not None:
                    on_answer(effect, recorded, True)

        def finish(effect: Effect, answer: JsonObject) -> None:
            answers[effect.key] = read_back = self._finish(effect, answer)
            if on_answer is not None:
                on_answer(effect, read_back, False)

        run_parallel(waiting, workers=workers, begin=self._begin, finish=finish, cancel=cancel)
        return [answer for answer in answers.values() if answer is not None]

    def note_stop(self, error: str) -> None:
        """Record the error that ends this process; the run may go on in another one.

        Raises:
            StorageError: the disk is full or not writable.
        """
        number = sum(key.startswith(STOPPED) for key in self._decisions) + 1
        self.decide(f"{STOPPED}{number}", {"error": error})

    def is_answered(self, key: str) -> bool:
        """Return whether the answer to the effect `key` is recorded."""
        return key in self._answers

    def decide(self, key: str, payload: JsonObject) -> None:
        """Record a decision, for those who only read; on replay, check that it is the same.

        Raises:
            ReplayMismatchError: the key is recorded with another payload.
            StorageError: the disk is full or not writable.
            TypeError: the payload holds something that JSON has no form for.
            ValueError: the payload holds NaN or an infinity.
        """
        payload = _as_read_back(payload, f"decision {key}")
        recorded = self._decisions.get(key)
        if recorded is None:
            self._append_event("decision", key, payload)
            self._decisions[key] = payload
        elif canonical_json(recorded) != canonical_json(payload):
            raise _mismatch(f"decision {key}", recorded, payload)

    def close(self) -> None:
        """Close the file; closing twice does no harm."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _open(self) -> None:
        end_byte = self._load() if self.path.exists() else 0
        try:
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            os.ftruncate(self._descriptor, end_byte)
            sync_folder(self.path.parent)
        except OSError as error:
            raise self._storage_error(error) from error
        if end_byte == 0:
            self._append({"type": "header", "schema_version": SCHEMA_VERSION, "time": self._clock()})

    def _load(self) -> int:
        """Take in what is recorded and return where the last whole line ends."""
        for record in (self._requests, self._answers, self._decisions):
            record.clear()
        end_byte = 0
        for line in scan(self.path):
            event, end_byte = line.event, line.end_byte
            if event.type in ("request", "answer") and event.key in self._answers:
                raise RunFolderError(
                    f"{self.path} is damaged: line {line.number} follows an answer to {event.key}"
                )
            match event.type:
                case "request":
                    self._requests[event.key] = event
                case "answer":
                    request = self._requests.get(event.key)
                    if request is None or request.hash != event.hash:
                        raise RunFolderError(f"{self.path} is damaged: line {line.number} answers no request")
                    self._answers[event.key] = event.data
                case "decision":
                    self._decisions[event.key] = event.data
        return end_byte

    def _recorded(self, effect: Effect) -> JsonObject | None:
        answer = self._answers.get(effect.key)
        if answer is None:
            return None
        recorded = self._requests[effect.key]
        request = _as_read_back(effect.request, f"request {effect.key}")
        if recorded.hash != canonical_hash(request):
            raise _mismatch(effect.key, recorded.data, request)
        # A copy: what the caller does to one answer must not show in the next.
        return _as_read_back(answer, f"answer {effect.key}")

    def _begin(self, effect: Effect) -> None:
        request = _as_read_back(effect.request, f"request {effect.key}")
        event = self._append_event("request", effect.key, request, digest=canonical_hash(request))
        self._requests[effect.key] = event

    def _finish(self, effect: Effect, answer: JsonObject) -> JsonObject:
        answer = _as_read_back(answer, f"answer {effect.key}")
        self._append_event("answer", effect.key, answer, digest=self._requests[effect.key].hash)
        self._answers[effect.key] = answer
        return _as_read_back(answer, f"answer {effect.key}")

    def _append_event(self, kind: str, key: str, data: JsonObject, *, digest: str = "") -> Event:
        event = Event(type=kind, key=key, data=data, time=self._clock(), hash=digest)
        record: JsonObject = {"type": kind, "key": key}
        if digest:
            record["hash"] = digest
        self._append({**record, DATA_FIELDS[kind]: data, "time": event.time})
        return event

    def _append(self, record: JsonObject) -> None:
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._lock:
            if self._descriptor < 0:
                raise RunFolderError(f"the journal {self.path} is closed")
            former_bytes = os.fstat(self._descriptor).st_size
            try:
                written_bytes = 0
                while written_bytes < len(line):
                    written_bytes += os.write(self._descriptor, line[written_bytes:])
                os.fsync(self._descriptor)
            except OSError as error:
                self._cut_back(former_bytes)
                raise self._storage_error(error) from error
            except BaseException:
                # Interrupted: whether the event is recorded is now for the file to say.
                self._cut_back(self._load())
                raise

    def _cut_back(self, length_bytes: int) -> None:
        try:
            os.ftruncate(self._descriptor, length_bytes)
        except OSError:
            # A torn line can only be told as such while it is the last one.
            self.close()

    def _storage_error(self, error: OSError) -> StorageError:
        return storage_error(error, self.path, remedy=f"run `rewardsmith resume {self.path.parent}`")


def _as_read_back(obj: JsonObject, what: str) -> JsonObject:
    """Return `obj` as it comes back from the file: tuples as lists, every key a string."""
    try:
        read_back = json.loads(json.dumps(obj, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from error
    # Once written, anything else would make the journal unreadable.
    if not isinstance(read_back, dict):
        raise TypeError(f"{what}: must be a dict, not {type(obj).__name__}")
    return read_back


def _mismatch(what: str, recorded: JsonObject, now: JsonObject) -> ReplayMismatchError:
    differing = sorted(
        name
        for name in recorded.keys() | now.keys()
        if name not in recorded
        or name not in now
        or canonical_json(recorded[name]) != canonical_json(now[name])
    )
    return ReplayMismatchError(
        f"{what}: recorded with other values of {', '.join(differing)}; the run was made with another "
        "configuration, version or machine: resume it there, or start a new run"
    )
