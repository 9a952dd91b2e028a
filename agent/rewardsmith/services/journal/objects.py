"""Large outputs of a run as files that are named by their content."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from rewardsmith.errors import RunFolderError
from rewardsmith.services.journal.events import canonical_json
from rewardsmith.services.journal.files import atomic_file, make_folder

_REF = re.compile(r"[0-9a-f]{64}")


class ObjectStore:
    """Files under `objects/ab/abcdef...`, each named by the SHA-256 of what it holds.

    Equal content is stored once. Threads and processes may write to one store at the same time.

    Args:
        folder: where the objects lie; created by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put_bytes(self, data: bytes) -> str:
        """Store `data` and return its reference.

        Raises:
            StorageError: the disk is full or not writable.
        """
        ref = hashlib.sha256(data).hexdigest()
        if not self._holds(ref, len(data)):
            with atomic_file(self._new_path(ref)) as file:
                file.write(data)
        return ref

    def put_json(self, obj: Any) -> str:
        """Store `obj` as canonical JSON and return its reference.

        Raises:
            StorageError: the disk is full or not writable.
            TypeError: `obj` holds something that JSON has no form for.
            ValueError: `obj` holds NaN or an infinity.
        """
        return self.put_bytes(canonical_json(obj).encode())

    def put_file(self, path: Path, *, move: bool = False) -> str:
        """Store the content of the file `path` and return its reference.

        Args:
            path: any readable file.
            move: whether to remove `path` once its content is stored.

        Raises:
            StorageError: the disk is full or not writable.
        """
        with path.open("rb") as source:
            ref = hashlib.file_digest(source, "sha256").hexdigest()
            if not self._holds(ref, source.tell()):
                source.seek(0)
                with atomic_file(self._new_path(ref)) as copy:
                    shutil.copyfileobj(source, copy)
        if move:
            path.unlink()
        return ref

    def path(self, ref: str) -> Path:
        """Return where the object `ref` lies, or would lie.

        Raises:
            RunFolderError: `ref` is not a reference.
        """
        # References come from journals that may have been edited: they must not lead out of the folder.
        if not _REF.fullmatch(ref):
            raise RunFolderError(f"not an object reference: {ref!r}")
        return self.folder / ref[:2] / ref

    def get_bytes(self, ref: str) -> bytes:
        """Return the content of the object `ref`.

        Raises:
            RunFolderError: the object is missing or damaged.
        """
        path = self.path(ref)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise RunFolderError(f"cannot read the object {path}: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != ref:
            raise RunFolderError(f"the object {path} is damaged: its content does not match its name")
        return data

    def get_json(self, ref: str) -> Any:
        """Return what `put_json` stored as the object `ref`.

        Raises:
            RunFolderError: the object is missing, damaged, or not JSON.
        """
        try:
            return json.loads(self.get_bytes(ref))
        except ValueError as error:
            raise RunFolderError(f"the object {self.path(ref)} is not JSON") from error

    def _holds(self, ref: str, size_bytes: int) -> bool:
        path = self.path(ref)
        return path.is_file() and path.stat().st_size == size_bytes

    def _new_path(self, ref: str) -> Path:
        path = self.path(ref)
        make_folder(path.parent)
        return path
