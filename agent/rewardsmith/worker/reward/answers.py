"""What a candidate may return, and what is said about it when it returns or raises something else."""

import types
from typing import Any

import numpy as np
import numpy.typing as npt

from rewardsmith.worker.reward.frame import MAX_COMPONENTS, MAX_ERROR_CHARS, Status

FILENAME = "<reward>"
_NUMERIC_KINDS = "fiub"
_FLOAT64 = np.dtype(np.float64)


class BadAnswerError(Exception):
    """Raised when a candidate returned something that is not a reward."""


def check_reward(answer: Any, n: int) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    """Return reward and components if `answer` is exactly `((n,), {name: (n,)})`."""
    if type(answer) is not tuple:
        raise BadAnswerError(f"compute_reward must return a tuple (reward, components), not {_kind(answer)}")
    if len(answer) != 2:
        raise BadAnswerError(f"compute_reward must return 2 values (reward, components), not {len(answer)}")
    reward, components = answer
    if not _is_good(reward, n):
        check_numbers("the reward", reward, n)
    if type(components) is not dict:
        raise BadAnswerError(f"the components must be a dict of arrays, not {_kind(components)}")
    if len(components) > MAX_COMPONENTS:
        raise BadAnswerError(f"{len(components)} components; at most {MAX_COMPONENTS} are allowed")
    for name, values in components.items():
        if type(name) is not str:
            raise BadAnswerError(f"component names must be str, not {_kind(name)}")
        if not _is_good(values, n):
            check_numbers(f"component {name[:60]!r}", values, n)
    return reward, components


def check_numbers(what: str, values: Any, n: int) -> npt.NDArray[Any]:
    """Return `values` if it is exactly a real numeric array of shape `(n,)`."""
    if type(values) is not np.ndarray:
        raise BadAnswerError(f"{what} must be a NumPy array of shape ({n},), not {_kind(values)}")
    if values.dtype.kind not in _NUMERIC_KINDS:
        raise BadAnswerError(f"{what} must hold real numbers, not dtype {values.dtype}")
    if values.shape != (n,):
        hint = "; one value per row is needed" if values.shape in ((), (1,)) else ""
        raise BadAnswerError(f"{what} must have shape ({n},), not {values.shape}{hint}")
    return values


def _is_good(values: Any, n: int) -> bool:
    # What almost every answer is; the messages of the full check cost more than the reward.
    return type(values) is np.ndarray and values.dtype is _FLOAT64 and values.shape == (n,)


def describe(error: BaseException, lines: list[str]) -> tuple[Status, str]:
    """Return status and text for an exception that candidate code raised.

    Args:
        error: the exception.
        lines: the candidate's source, to quote the line that raised.
    """
    if isinstance(error, BadAnswerError):
        return Status.BAD_ANSWER, str(error)[:MAX_ERROR_CHARS]
    status = Status.RAISED
    if isinstance(error, MemoryError):
        status = Status.MEMORY
    elif isinstance(error, SystemExit):
        status = Status.EXITED
    try:
        message = str(error)[: MAX_ERROR_CHARS // 2]
    except BaseException:
        message = "(its message cannot be read)"
    text = f"{type(error).__name__[:100]}: {message}"
    number = _last_line(error.__traceback__)
    if number is not None and 0 < number <= len(lines):
        text += f"\n  line {number}: {lines[number - 1].strip()[:300]}"
    return status, text


def describe_syntax(error: Exception) -> str:
    """Return the text for a source that did not compile."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})"[:MAX_ERROR_CHARS]
    if isinstance(error, ValueError):
        return str(error)[:MAX_ERROR_CHARS]
    return "the source is nested too deeply"


def _last_line(trace: types.TracebackType | None) -> int | None:
    number = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            number = trace.tb_lineno
        trace = trace.tb_next
    return number


def _kind(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"[:100].removeprefix("builtins.")
