"""The journal's lines as they stand on disk: their form, their hash, and a reader that only reads."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardsmith.errors import RunFolderError

SCHEMA_VERSION = 1
"""The newest version of journals and run folders that this code can read."""

JsonObject = dict[str, Any]

DATA_FIELDS = {"request": "request", "answer": "answer", "decision": "payload"}
"""By type of event, the field of its line that holds its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of a journal.

    Attributes:
        type: `header`, `request`, `answer` or `decision`.
        key: the structural key, such as `i03/c02/train/r1`; empty for the header.
        data: the request, the answer, the decision's payload, or the header's `schema_version`.
        time: when it was written, in Unix seconds.
        hash: of the request that is made or answered; empty for other types.
    """

    type: str
    key: str
    data: JsonObject
    time: float
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An event and where it stands.

    Attributes:
        event: what the line says.
        number: counted from 1.
        end_byte: offset of the first byte after the line.
    """

    event: Event
    number: int
    end_byte: int


def canonical_json(obj: Any) -> str:
    """Return the one JSON text that equal objects share: sorted keys, no spaces, ASCII.

    Raises:
        TypeError: `obj` holds something that JSON has no form for.
        ValueError: `obj` holds NaN or an infinity.
    """
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_hash(obj: Any) -> str:
    """Return the SHA-256 of `canonical_json(obj)` in hexadecimal; raises what that raises."""
    return hashlib.sha256(canonical_json(obj).encode()).hexdigest()


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, which another process may be writing; takes no lock.

    A torn last line is left out.

    Raises:
        RunFolderError: the journal is missing, damaged, or written by a newer version.
    """
    for line in scan(path):
        yield line.event


def scan(path: Path) -> Iterator[Line]:
    """Yield the lines of a journal up to a torn last one.

    Raises:
        RunFolderError: the journal is missing, damaged, or written by a newer version.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise RunFolderError(f"cannot read the journal {path}: {error.strerror}") from error
    end_byte = 0
    with file:
        for number, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return
            end_byte += len(raw)
            try:
                record = json.loads(raw.decode())
            except ValueError as error:
                if not file.readline():
                    return
                raise _damaged(path, number, "is not JSON") from error
            event = _to_event(record, path, number)
            if number == 1:
                _check_header(event, path)
            yield Line(event=event, number=number, end_byte=end_byte)


def _to_event(record: Any, path: Path, number: int) -> Event:
    match record:
        case {"type": "header", "schema_version": int(version), "time": int() | float() as time}:
            return Event(type="header", key="", data={"schema_version": version}, time=time)
        case {"type": str(kind), "key": str(key), "time": int() | float() as time}:
            data = record.get(DATA_FIELDS.get(kind, "payload"))
            digest = record.get("hash", "")
            if isinstance(data, dict) and isinstance(digest, str):
                return Event(type=kind, key=key, data=data, time=time, hash=digest)
    raise _damaged(path, number, "is not an event")


def _check_header(event: Event, path: Path) -> None:
    if event.type != "header":
        raise _damaged(path, 1, "is not a journal's header")
    version = event.data["schema_version"]
    if version > SCHEMA_VERSION:
        raise RunFolderError(
            f"{path} was written by a newer rewardsmith (schema_version {version}; this one reads up to "
            f"{SCHEMA_VERSION}); upgrade rewardsmith"
        )


def _damaged(path: Path, number: int, what: str) -> RunFolderError:
    return RunFolderError(f"{path} is damaged: line {number} {what}; restore it from a copy")
