"""Every error that rewardsmith raises on purpose, and the exit code that it ends a command with."""

from enum import StrEnum


class RewardsmithError(Exception):
    """Base of all errors that a user is shown as one clear line, without a traceback."""

    exit_code = 2


class ConfigError(RewardsmithError):
    """Raised when a configuration file, a key or an option is wrong; the message names place and remedy."""


class TaskError(RewardsmithError):
    """Raised when a task cannot be found, read or used."""


class MissingExtraError(TaskError):
    """Raised when a task or an option needs an optional extra that is not installed."""


class RunFolderError(RewardsmithError):
    """Raised when a run folder is missing, damaged, locked by another process, or of a newer version."""


class StorageError(RewardsmithError):
    """Raised when the disk is full or not writable; nothing is left half-written."""


class ReplayMismatchError(RunFolderError):
    """Raised when a recorded effect does not belong to the request that is made on replay."""


class SandboxUnavailableError(RewardsmithError):
    """Raised when the sandbox itself failed; nothing was learnt about the candidate."""

    exit_code = 3


class TrainerError(RewardsmithError):
    """Raised when a trainer process failed for a reason that is not the candidate's."""

    exit_code = 3


class ModelError(RewardsmithError):
    """Raised when a language model cannot be used as it was asked for: its name, its key or its settings."""


class ContextTooLongError(ModelError):
    """Raised when a prompt is longer than a model takes, with all that can be left out left out."""


class ModelUnavailableError(RewardsmithError):
    """Raised when a language model does not answer for now; the run can be resumed later."""

    exit_code = 3


class NoWinnerError(RewardsmithError):
    """Raised when a command needs a winner and the run has none yet."""


class BudgetExhausted(RewardsmithError):  # noqa: N818  (an ending, not a fault)
    """Raised when a budget leaves no room for the next effect; the run ends with its best so far."""

    exit_code = 0


class FailureCode(StrEnum):
    """Why a candidate was turned down. The values stand in journals and in messages to the coder."""

    # the model gave no code
    MODEL_ERROR = "model_error"
    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    NO_CODE = "no_code"
    PLACEHOLDER = "placeholder"
    BAD_FORM = "bad_form"
    # before anything runs
    SYNTAX = "syntax"
    FORBIDDEN = "forbidden"
    SIGNATURE = "signature"
    TOO_LARGE = "too_large"
    DUPLICATE = "duplicate"
    # the code ran and answered wrongly
    RAISED = "raised"
    BAD_ANSWER = "bad_answer"
    NON_FINITE = "non_finite"
    MAGNITUDE = "magnitude"
    NON_DETERMINISTIC = "non_deterministic"
    BATCH_INCONSISTENT = "batch_inconsistent"
    SLOW = "slow"
    DRIFT = "drift"
    # the process was ended
    TIMEOUT = "timeout"
    CPU_LIMIT = "cpu_limit"
    MEMORY = "memory"
    OUTPUT_FLOOD = "output_flood"
    CRASHED = "crashed"
    EXITED = "exited"
    PROTOCOL = "protocol"


class CandidateError(RewardsmithError):
    """Raised when a candidate failed: its code is wrong, its answer is, or it had to be killed.

    Attributes:
        code: the typed reason.
        message: one clear text for the coder; data from an untrusted process, already cut and cleaned.
    """

    def __init__(self, code: FailureCode, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
