"""What both ends of a reward process must agree on: frames, status numbers, memory layout and caps.

A call travels in two places. Small fixed-size frames go over two pipes; rows and numbers lie in two
shared memory files, one that only the caller may write and one that the reward process may write.
"""

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_COMPONENTS = 32
MAX_MAGNITUDE = 1e6
MAX_SOURCE_BYTES = 64 * 1024
MAX_NAME_CHARS = 40
MAX_TEXT_BYTES = 8192
"""Room for component names or an error text behind the numbers of an answer."""
MAX_ERROR_CHARS = 2000

REQUEST = struct.Struct("<QII")
"""Sequence number, method, rows."""
ANSWER = struct.Struct("<QIIIIIQ")
"""Sequence number, status, rows, components, version of the names, bytes of text, CPU nanoseconds."""

LOCKED_SEQ = 0
READY_SEQ = 1
FIRST_CALL_SEQ = 2

_ITEM = 8


class Method(IntEnum):
    """Which function of the candidate a request asks for."""

    COMPUTE_REWARD = 0
    POTENTIAL = 1


class Status(IntEnum):
    """How a request ended. `LOCKED` and `LOCK_FAILED` are said only before any candidate code has run."""

    OK = 0
    RAISED = 1
    BAD_ANSWER = 2
    MEMORY = 3
    EXITED = 4
    SYNTAX = 5
    SIGNATURE = 6
    LOCKED = 16
    LOCK_FAILED = 17
    READY = 18


class AnswerFrame(NamedTuple):
    """The fields of `ANSWER`."""

    seq: int
    status: int
    n: int
    n_components: int
    names_version: int
    text_bytes: int
    cpu_ns: int

    def pack(self) -> bytes:
        """Return the frame's bytes."""
        return ANSWER.pack(*self)


class RequestViews(NamedTuple):
    """The request area as arrays of n rows."""

    state: npt.NDArray[np.float64]
    action: npt.NDArray[Any]
    next_state: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Geometry:
    """Where everything lies in the two shared memory files.

    Attributes:
        fields: name and shape of each field of the state, in order.
        action_dim: number of values in one action.
        discrete: whether actions are int64 rather than float64.
        max_rows: capacity of one request.
    """

    fields: tuple[tuple[str, tuple[int, ...]], ...]
    action_dim: int
    discrete: bool
    max_rows: int

    @classmethod
    def from_wire(
        cls, layout: Sequence[Sequence[Any]], action_dim: int, discrete: bool, max_rows: int
    ) -> "Geometry":
        """Rebuild from the JSON form of a layout, `[[name, [*shape]], ...]`."""
        fields = tuple((str(name), tuple(int(size) for size in shape)) for name, shape in layout)
        return cls(fields, int(action_dim), bool(discrete), int(max_rows))

    @cached_property
    def state_dim(self) -> int:
        """Length of one state vector."""
        return sum(int(np.prod(shape, dtype=np.int64)) for _, shape in self.fields)

    @cached_property
    def _offsets(self) -> tuple[int, int, int, int]:
        state = self.max_rows * self.state_dim * _ITEM
        action = self.max_rows * self.action_dim * _ITEM
        return state, state + action, 2 * state + action, 2 * state + action + self.max_rows

    @property
    def request_bytes(self) -> int:
        """Size of the request memory."""
        return _pages(self._offsets[3])

    @cached_property
    def text_offset(self) -> int:
        """Where the text area of the answer memory begins."""
        return (1 + MAX_COMPONENTS) * self.max_rows * _ITEM

    @cached_property
    def answer_bytes(self) -> int:
        """Size of the answer memory."""
        return _pages(self.text_offset + MAX_TEXT_BYTES)

    def request_views(self, memory: mmap.mmap, n: int) -> RequestViews:
        """Return the request memory as arrays of n rows; read-only where the memory is."""
        action, next_state, terminated, _ = self._offsets
        action_dtype = np.int64 if self.discrete else np.float64

        def block(dtype: Any, offset: int, width: int) -> npt.NDArray[Any]:
            return np.frombuffer(memory, dtype, n * width, offset).reshape(n, width)

        return RequestViews(
            state=block(np.float64, 0, self.state_dim),
            action=block(action_dtype, action, self.action_dim),
            next_state=block(np.float64, next_state, self.state_dim),
            terminated=np.frombuffer(memory, np.bool_, n, terminated),
        )

    def answer_view(self, memory: mmap.mmap, n: int, n_components: int) -> npt.NDArray[np.float64]:
        """Return the numbers of an answer: row 0 is the reward, the others are its components."""
        rows = 1 + n_components
        return np.frombuffer(memory, np.float64, rows * n, 0).reshape(rows, n)


def _pages(n_bytes: int) -> int:
    return max(1, -(-n_bytes // mmap.PAGESIZE)) * mmap.PAGESIZE
