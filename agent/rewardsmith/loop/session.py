"""Everything that a run needs while it goes on, opened in one place and closed in one place."""

import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rewardsmith.config import WEAK_SANDBOX_NOTICE, ModelConfig, RunConfig
from rewardsmith.errors import (
    BudgetExhausted,
    ModelError,
    ModelUnavailableError,
    RunFolderError,
    SandboxUnavailableError,
    StorageError,
    TrainerError,
)
from rewardsmith.loop.calls import ModelCalls
from rewardsmith.loop.replaying import recorded_differences
from rewardsmith.loop.reporter import Reporter
from rewardsmith.services.chat.calls import Ask, Asker
from rewardsmith.services.chat.names import BUILTIN, check_access, open_answerer
from rewardsmith.services.executor.trainers import TrainerHost
from rewardsmith.services.journal.folder import RunFolder
from rewardsmith.services.journal.journal import Effect, Journal
from rewardsmith.services.journal.ledger import Ledger, Limits
from rewardsmith.services.journal.objects import ObjectStore
from rewardsmith.services.models.base import Coder
from rewardsmith.services.models.factory import open_coder
from rewardsmith.services.sandbox.base import Sandbox
from rewardsmith.services.sandbox.factory import WEAK, open_sandbox
from rewardsmith.services.tasks.catalog import require_extras, task_digest
from rewardsmith.services.tasks.schema import Task, TaskFile

_RESUMABLE = (TrainerError, SandboxUnavailableError, ModelError, ModelUnavailableError)
"""What stops a run without being its fault: nothing that is recorded is lost."""


@dataclass
class Session:
    """The services of one run."""

    config: RunConfig
    task: Task
    folder: RunFolder
    journal: Journal
    ledger: Ledger
    coder: Coder
    ask: Ask
    """Makes model calls for coder and evaluator."""
    sandbox: Sandbox
    host: TrainerHost
    reporter: Reporter
    started: float

    @property
    def objects(self) -> ObjectStore:
        """Where large outputs go."""
        return self.folder.objects

    @property
    def had_weak_sandbox(self) -> bool:
        """Whether a sandbox that only limits reward code had a part in this run, now or before a resume."""
        return self.journal.is_answered(f"sandbox/{WEAK}")

    @property
    def scratch(self) -> Path:
        """A folder for files on their way; emptied when a run is opened."""
        return self.folder.path / "tmp"

    def check_wall_clock(self, key: str) -> None:
        """Raise BudgetExhausted once the run has taken longer than it may; the verdict is recorded."""
        if self.config.budget.max_wall_s is None:
            return
        now = {"elapsed_s": time.monotonic() - self.started}
        recorded = self.journal.effect(Effect(key=f"{key}/wall", request={}, run=lambda: now))
        # Time that earlier processes spent on this run counts as well.
        self.started = min(self.started, time.monotonic() - recorded["elapsed_s"])
        verdict = self.ledger.wall_verdict(recorded["elapsed_s"])
        if verdict is not None:
            raise BudgetExhausted(verdict)


def task_of(config: RunConfig) -> Task:
    """Return the task as the run recorded it.

    Raises:
        RunFolderError: the task's code has changed or is gone, so that the run would not go on as it began.
    """
    folder = Path(config.task_folder)
    task = Task(name=config.task, folder=folder, file=TaskFile.model_validate(config.task_file))
    try:
        digest = task_digest(task)
    except OSError as error:
        raise RunFolderError(f"the run's task is not at {folder} any more ({error.strerror})") from error
    if digest != config.task_digest:
        raise RunFolderError(
            f"the code of the task in {folder} has changed since the run began; start a new run"
        )
    return task


@contextmanager
def open_session(folder: RunFolder, reporter: Reporter, *, dry: bool = False) -> Iterator[Session]:
    """Hold a run's lock, journal, sandbox and trainers while the block runs.

    Args:
        folder: of the run.
        reporter: shows progress.
        dry: whether no model will be called, so that none need be there.

    Raises:
        RewardsmithError: something that the run needs is missing or in use.
    """
    config = RunConfig.model_validate(folder.config)
    task = task_of(config)
    require_extras(task)
    coder = open_coder(config.model, config.method.propose)
    models: dict[Asker, ModelConfig] = {"coder": config.model}
    if config.evaluator is not None:
        models["evaluator"] = config.evaluator
    called: dict[Asker, ModelConfig] = {
        who: model for who, model in models.items() if model.name != BUILTIN and not dry
    }
    for model in called.values():
        check_access(model)
    with ExitStack() as stack:
        journal = stack.enter_context(folder.writer())
        ledger = Ledger(Limits(**config.budget.model_dump()))
        calls = ModelCalls(
            {who: open_answerer(model) for who, model in called.items()},
            called,
            journal=journal,
            objects=folder.objects,
            ledger=ledger,
            reporter=reporter,
        )
        stack.callback(calls.close)
        skipped: list[str] = []
        sandbox = open_sandbox(config.sandbox, allow_weak=config.allow_weak_sandbox, on_skip=skipped.append)
        stack.callback(sandbox.close)
        # Each backend that had a part in the run is recorded: a run may be resumed under another.
        journal.effect(
            Effect(key=f"sandbox/{sandbox.name}", request={}, run=lambda: {"is_weak": sandbox.is_weak})
        )
        reporter.line(WEAK_SANDBOX_NOTICE if sandbox.is_weak else f"Sandbox: {sandbox.name}")
        for reason in skipped:
            reporter.line(f"  not {reason}")
        for difference in recorded_differences(config):
            reporter.line(difference)
        host = TrainerHost(task)
        stack.callback(host.close)
        session = Session(
            config=config,
            task=task,
            folder=folder,
            journal=journal,
            ledger=ledger,
            coder=coder,
            ask=calls.ask,
            sandbox=sandbox,
            host=host,
            reporter=reporter,
            started=time.monotonic(),
        )
        shutil.rmtree(session.scratch, ignore_errors=True)
        stack.callback(shutil.rmtree, session.scratch, ignore_errors=True)
        try:
            yield session
        except _RESUMABLE as error:
            with suppress(StorageError):
                journal.note_stop(str(error))
            hint = f"`rewardsmith resume {shlex.quote(str(folder.path))}` goes on from here"
            if isinstance(error, ModelError):
                hint = f"once that is mended, {hint}; another model or address needs a new run"
            raise type(error)(f"{str(error).rstrip('.')}; {hint}") from error
