"""The caller's end of a reward process, used by the driver and, rebuilt from descriptors, by a trainer.

The answer memory and the answer pipe belong to an enemy: everything is copied out first and checked then.
"""

import contextlib
import mmap
import os
import select
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateLayout
from rewardsmith.errors import CandidateError, FailureCode, SandboxUnavailableError
from rewardsmith.services.sandbox.base import RewardSpec
from rewardsmith.services.sandbox.untrusted import check_numbers, clean, parse_names, protocol_error
from rewardsmith.types import FloatArray, RewardAnswer, Transitions
from rewardsmith.worker.reward.frame import (
    ANSWER,
    FIRST_CALL_SEQ,
    LOCKED_SEQ,
    MAX_COMPONENTS,
    MAX_MAGNITUDE,
    MAX_TEXT_BYTES,
    READY_SEQ,
    REQUEST,
    AnswerFrame,
    Geometry,
    Method,
    RequestViews,
    Status,
)

_MAX_CACHED_SIZES = 64
_MAX_SQUARE = MAX_MAGNITUDE**2
_OK, _COMPUTE_REWARD = int(Status.OK), int(Method.COMPUTE_REWARD)
_FAILURES = {
    Status.RAISED: FailureCode.RAISED,
    Status.BAD_ANSWER: FailureCode.BAD_ANSWER,
    Status.MEMORY: FailureCode.MEMORY,
    Status.EXITED: FailureCode.EXITED,
    Status.SYNTAX: FailureCode.SYNTAX,
    Status.SIGNATURE: FailureCode.SIGNATURE,
}


class EndedError(CandidateError):
    """Raised when the reward process has closed its end; only the driver can learn why."""

    def __init__(self) -> None:
        super().__init__(FailureCode.CRASHED, "the reward process ended")


def geometry_of(spec: RewardSpec) -> dict[str, Any]:
    """Return the arguments of `Geometry.from_wire` for a spec, JSON-ready."""
    return {
        "layout": spec.layout.wire(),
        "action_dim": spec.action.dim,
        "discrete": spec.action.discrete,
        "max_rows": spec.max_rows,
    }


class RewardClient:
    """Asks one reward process.

    Args:
        fds: request memory, answer memory, request pipe, answer pipe; owned by this object from now on.
        spec: the shape of the questions.
        call_timeout_s: wall-clock limit of one call.
        pid: the reward process; None where it cannot be seen from here.
    """

    def __init__(self, fds: Sequence[int], spec: RewardSpec, call_timeout_s: float, pid: int | None) -> None:
        self.spec = spec
        self.pid = pid
        self.has_potential = False
        self._fds = tuple(fds)
        request_memory, answer_memory, self._request_fd, self._answer_fd = self._fds
        self._geometry = Geometry.from_wire(**geometry_of(spec))
        self._request = mmap.mmap(request_memory, self._geometry.request_bytes)
        self._answer = mmap.mmap(answer_memory, self._geometry.answer_bytes, mmap.MAP_SHARED, mmap.PROT_READ)
        self._timeout_s = call_timeout_s
        self._timeout_ms = max(1, round(call_timeout_s * 1000))
        self._poll = select.poll()
        self._poll.register(self._answer_fd, select.POLLIN)
        self._views: dict[int, RequestViews] = {}
        self._outputs: dict[tuple[int, int], FloatArray] = {}
        self._seq = FIRST_CALL_SEQ
        self._names: tuple[str, ...] | None = None
        self._names_version = 0

    @classmethod
    def from_wire(cls, wire: dict[str, Any], fds: Sequence[int]) -> "RewardClient":
        """Rebuild a client from `RewardEndpoint.wire` and its descriptors, in another process."""
        spec = RewardSpec(
            layout=StateLayout.from_wire(wire["layout"]),
            action=ActionSpec(dim=wire["action_dim"], discrete=wire["discrete"]),
            max_rows=wire["max_rows"],
        )
        client = cls(fds, spec, wire["call_timeout_s"], wire["pid"])
        client.has_potential = wire["has_potential"]
        client._seq = wire["seq"]
        client._names_version = wire["names_version"]
        client._names = None if wire["names"] is None else tuple(wire["names"])
        return client

    @property
    def fds(self) -> tuple[int, ...]:
        """The descriptors to hand on, in the order that `from_wire` expects."""
        return self._fds

    def wire(self) -> dict[str, Any]:
        """Return the JSON-ready description from which another process continues."""
        return geometry_of(self.spec) | {
            "call_timeout_s": self._timeout_s,
            "pid": self.pid,
            "has_potential": self.has_potential,
            "seq": self._seq,
            "names_version": self._names_version,
            "names": self._names,
        }

    def wait_locked(self, timeout_s: float) -> dict[str, str]:
        """Wait for the word that the lock is on, which comes before any candidate code, and return its facts.

        Raises:
            SandboxUnavailableError: the lock could not be applied.
        """
        # The next frame may be there already, and the text area may be the candidate's by now.
        frame = self._receive(LOCKED_SEQ, max(1, round(timeout_s * 1000)), alone=False)
        if frame.status != Status.LOCKED:
            raise SandboxUnavailableError(f"a reward process could not be locked: {clean(self._text(frame))}")
        return {
            "landlock": f"ABI {frame.n}" if frame.n else "none",
            "seccomp": "allow list" if frame.n_components & 2 else "none",
            "user": "nobody" if frame.n_components & 1 else "unchanged",
        }

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until the candidate's module has run.

        Raises:
            CandidateError: it did not compile, raised, or defines no `compute_reward`.
        """
        frame = self._receive(READY_SEQ, max(1, round(timeout_s * 1000)))
        if frame.status != Status.READY:
            self._failed(frame)
        self.has_potential = frame.n == 1

    def call(self, batch: Transitions) -> RewardAnswer:
        """Return the checked reward of a batch; raises as `RewardProcess.call` does."""
        n, most = len(batch.state), self.spec.max_rows
        if 0 < n <= most:
            return self._call(batch, n)
        if n == 0:
            none = np.empty(0)
            return RewardAnswer(reward=none, components=dict.fromkeys(self._names or (), none), cpu_s=0.0)
        parts = [self.call(batch.take(slice(start, start + most))) for start in range(0, n, most)]
        return RewardAnswer(
            reward=np.concatenate([part.reward for part in parts]),
            components={
                name: np.concatenate([part.components[name] for part in parts])
                for name in parts[0].components
            },
            cpu_s=sum(part.cpu_s for part in parts),
        )

    def potential(self, state: FloatArray) -> FloatArray:
        """Return the checked potential of each state; raises as `RewardProcess.potential` does."""
        n, most = len(state), self.spec.max_rows
        if n > most:
            parts = [self.potential(state[start : start + most]) for start in range(0, n, most)]
            return np.concatenate(parts)
        if n == 0:
            return np.empty(0)
        views = self._views.get(n) or self._make_views(n)
        if state.shape != views.state.shape:
            raise ValueError(f"states have shape {state.shape}, the layout needs {views.state.shape}")
        views.state[...] = state
        frame = self._ask(Method.POTENTIAL, n)
        if frame.n_components:
            raise protocol_error("it announced components of a potential")
        phi: FloatArray = self._numbers(n, 0, ())[0]
        return phi

    def close(self) -> None:
        """Release descriptors and memory; safe to call twice."""
        fds, self._fds = self._fds, ()
        for fd in fds:
            os.close(fd)
        self._views.clear()
        self._outputs.clear()
        if fds:
            for memory in (self._request, self._answer):
                # Whoever still holds a view keeps the memory alive until it is dropped.
                with contextlib.suppress(BufferError):
                    memory.close()

    def _call(self, batch: Transitions, n: int) -> RewardAnswer:
        views = self._views.get(n) or self._make_views(n)
        rows = (batch.state, batch.action, batch.next_state, batch.terminated)
        for view, values in zip(views, rows, strict=True):
            if values.shape != view.shape:
                raise ValueError(f"an array has shape {values.shape}, the layout needs {view.shape}")
            view[...] = values
        frame = self._ask(_COMPUTE_REWARD, n)
        k = frame.n_components
        if k > MAX_COMPONENTS:
            raise protocol_error(f"it announced {k} components")
        if frame.names_version != self._names_version or self._names is None:
            self._read_names(frame)
        names = self._names or ()
        if len(names) != k:
            raise protocol_error(f"it announced {k} components and named {len(names)}")
        numbers = self._numbers(n, k, names)
        components = {name: numbers[row] for row, name in enumerate(names, 1)}
        return RewardAnswer(reward=numbers[0], components=components, cpu_s=frame.cpu_ns * 1e-9)

    def _ask(self, method: int, n: int) -> AnswerFrame:
        if self._poll.poll(0):
            self._unexpected()
        seq = self._seq
        self._seq += 1
        try:
            os.write(self._request_fd, REQUEST.pack(seq, method, n))
        except BrokenPipeError:
            raise EndedError from None
        except BlockingIOError:
            raise protocol_error("it does not read its requests") from None
        frame = self._receive(seq, self._timeout_ms)
        if frame.status != _OK:
            self._failed(frame)
        if frame.n != n:
            raise protocol_error(f"it answered {frame.n} rows to {n}")
        return frame

    def _receive(self, seq: int, timeout_ms: int, alone: bool = True) -> AnswerFrame:
        if not self._poll.poll(timeout_ms):
            limit = timeout_ms / 1000
            raise CandidateError(FailureCode.TIMEOUT, f"no answer within {limit:g} s")
        data = os.read(self._answer_fd, ANSWER.size + alone)
        if not data:
            raise EndedError
        if len(data) != ANSWER.size:
            raise protocol_error(f"it wrote {len(data)} bytes where an answer has {ANSWER.size}")
        frame = AnswerFrame._make(ANSWER.unpack(data))
        if frame.seq != seq:
            raise protocol_error("its answer belongs to another request")
        return frame

    def _unexpected(self) -> NoReturn:
        if os.read(self._answer_fd, 1):
            raise protocol_error("it answered before it was asked")
        raise EndedError

    def _text(self, frame: AnswerFrame) -> bytes:
        if frame.text_bytes > MAX_TEXT_BYTES:
            raise protocol_error(f"it announced {frame.text_bytes} bytes of text")
        start = self._geometry.text_offset
        return self._answer[start : start + frame.text_bytes]

    def _failed(self, frame: AnswerFrame) -> NoReturn:
        if frame.status not in _FAILURES:
            raise protocol_error(f"status {frame.status} is none that it may give")
        raise CandidateError(_FAILURES[Status(frame.status)], clean(self._text(frame)) or "no message")

    def _read_names(self, frame: AnswerFrame) -> None:
        names = parse_names(self._text(frame))
        if self._names is not None and names != self._names:
            before, after = ", ".join(self._names), ", ".join(names)
            raise CandidateError(
                FailureCode.BAD_ANSWER,
                f"the component names changed between calls, from ({before}) to ({after}); "
                "return the same keys in the same order every time",
            )
        self._names, self._names_version = names, frame.names_version

    def _numbers(self, n: int, k: int, names: tuple[str, ...]) -> FloatArray:
        source = self._outputs.get((n, k))
        if source is None:
            if len(self._outputs) >= _MAX_CACHED_SIZES:
                self._outputs.clear()
            source = self._outputs[n, k] = self._geometry.answer_view(self._answer, n, k)
        numbers = source.copy()
        # One pass for almost every answer: a small sum of squares means that all are finite and small.
        if not np.vdot(numbers, numbers) <= _MAX_SQUARE:
            check_numbers(numbers, ("reward", *names))
        return numbers

    def _make_views(self, n: int) -> RequestViews:
        if len(self._views) >= _MAX_CACHED_SIZES:
            self._views.clear()
        views = self._views[n] = self._geometry.request_views(self._request, n)
        return views
