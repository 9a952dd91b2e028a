"""Runs the cells of a campaign side by side, each in a process of its own; run again, it goes on."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rewardsmith.campaign.cells import Cell
from rewardsmith.loop.records import RESULT_FILE, is_locked
from rewardsmith.loop.run import RunResult
from rewardsmith.services.journal.folder import RunFolder

ATTEMPTS_FILE = "attempts.jsonl"
_STOP_TIMEOUT_S = 20.0
_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a cell.

    Attributes:
        cell: which.
        folder: its run folder.
        result: what the run ended with; None where it did not end.
        wall_s: seconds that its processes took, over all attempts.
        error: the last line that it said where it did not end, or None.
    """

    cell: Cell
    folder: Path
    result: RunResult | None
    wall_s: float
    error: str | None = None


def by_task_and_label(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], list[Outcome]]:
    """Return the outcomes of each task and label, which differ in their seeds alone."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.cell.task, outcome.cell.label), []).append(outcome)
    return groups


class Campaign:
    """A folder of runs.

    Args:
        root: the folder; made where it is missing.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_cancelled = False
        self._wall_s = _read_attempts(root / ATTEMPTS_FILE)

    def run(
        self,
        cells: Sequence[Cell],
        *,
        jobs: int,
        on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    ) -> list[Outcome]:
        """Bring every cell to its end and return the outcomes in the order of the cells.

        Args:
            cells: what to run; those that have ended already are read.
            jobs: how many run at a time.
            on_outcome: told of each as it ends.

        Raises:
            StorageError: the disk is full or not writable.
            KeyboardInterrupt: after every run was asked to stop; all of them can go on.
        """
        with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="run") as pool:
            futures = {pool.submit(self._run, cell): cell for cell in cells}
            try:
                for future in as_completed(futures):
                    on_outcome(future.result())
            except BaseException:
                for future in futures:
                    future.cancel()
                self._cancel()
                raise
        return [future.result() for future in futures]

    def _run(self, cell: Cell) -> Outcome:
        folder = self.root / cell.folder_name
        # A run outlives a campaign that was killed.
        while is_locked(folder) and not self._is_cancelled:
            time.sleep(_LOOK_AGAIN_S)
        if not (folder / RESULT_FILE).is_file():
            if not (folder / "run.yaml").is_file():
                RunFolder.create(self.root, cell.folder_name, cell.config.model_dump(mode="json"))
            error = self._attempt(folder)
            if error is not None:
                return self._outcome(cell, None, error)
        result: RunResult = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
        return self._outcome(cell, result)

    def _outcome(self, cell: Cell, result: RunResult | None, error: str | None = None) -> Outcome:
        name = cell.folder_name
        return Outcome(
            cell=cell,
            folder=self.root / name,
            result=result,
            wall_s=self._wall_s.get(name, 0.0),
            error=error,
        )

    def _attempt(self, folder: Path) -> str | None:
        """Run a process that goes on with a run; return why it did not bring it to its end, or None."""
        command = [sys.executable, "-m", "rewardsmith", "resume", str(folder), "--json"]
        started = time.monotonic()
        with self._lock:
            if self._is_cancelled:
                return "interrupted"
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
                # An interrupt from the keyboard is for us; we pass it on.
                start_new_session=True,
            )
            self._processes.add(process)
        said = process.communicate()[1].decode(errors="replace")
        with self._lock:
            self._processes.discard(process)
        wall_s = round(time.monotonic() - started, 3)
        row = {"run": folder.name, "wall_s": wall_s, "exit_code": process.returncode}
        with self._lock, (self.root / ATTEMPTS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            self._wall_s[folder.name] = self._wall_s.get(folder.name, 0.0) + wall_s
        if (folder / RESULT_FILE).is_file():
            return None
        lines = said.strip().splitlines()
        return lines[-1] if lines else f"the process ended with {process.returncode}"

    def _cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            running = list(self._processes)
        for process in running:
            process.terminate()
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            if process.poll() is None:
                process.kill()


def _read_attempts(file: Path) -> dict[str, float]:
    """Return the seconds that earlier attempts took, by run."""
    wall_s: dict[str, float] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        # A line may be torn where a campaign was killed.
        with suppress(ValueError):
            row = json.loads(line)
            wall_s[row["run"]] = wall_s.get(row["run"], 0.0) + row["wall_s"]
    return wall_s
