"""The forked reward process: map the memory, lock, run the candidate's module, answer requests."""

import __future__

import json
import linecache
import mmap
import os
import time
import types
from typing import Any

from rewardsmith.worker.reward import lock
from rewardsmith.worker.reward.answers import (
    FILENAME,
    BadAnswerError,
    check_numbers,
    check_reward,
    describe,
    describe_syntax,
)
from rewardsmith.worker.reward.frame import (
    ANSWER,
    LOCKED_SEQ,
    MAX_TEXT_BYTES,
    READY_SEQ,
    REQUEST,
    AnswerFrame,
    Geometry,
    Method,
    RequestViews,
    Status,
)
from rewardsmith.worker.reward.namespace import ENTRY, POTENTIAL, candidate_namespace
from rewardsmith.worker.reward.views import BatchFactory

_MAX_CACHED_SIZES = 64
_OK, _COMPUTE_REWARD, _POTENTIAL = int(Status.OK), int(Method.COMPUTE_REWARD), int(Method.POTENTIAL)


class RewardServer:
    """Answers requests on two pipes and two shared memories.

    Args:
        geometry: how the memories are laid out.
        request: the caller's memory, mapped read-only.
        answer: this side's memory.
        request_fd: pipe to read request frames from.
        answer_fd: pipe to write answer frames to.
    """

    def __init__(
        self, geometry: Geometry, request: mmap.mmap, answer: mmap.mmap, request_fd: int, answer_fd: int
    ) -> None:
        self._geometry = geometry
        self._request = request
        self._answer = answer
        self._request_fd = request_fd
        self._answer_fd = answer_fd
        self._batches = BatchFactory(geometry)
        self._views: dict[int, tuple[RequestViews, tuple[Any, ...], Any]] = {}
        self._outputs: dict[tuple[int, int], Any] = {}
        self._lines: list[str] = []
        self._functions: dict[int, types.FunctionType] = {}
        self._names: tuple[str, ...] | None = None
        self._names_version = 0
        self._names_bytes = 0

    def say(self, seq: int, status: Status, text: str = "", n: int = 0, k: int = 0, cpu_ns: int = 0) -> None:
        """Send one answer frame, with its text in the answer memory."""
        data = text.encode(errors="replace")[:MAX_TEXT_BYTES]
        if data:
            start = self._geometry.text_offset
            self._answer[start : start + len(data)] = data
        frame = AnswerFrame(seq, status, n, k, self._names_version, len(data), cpu_ns)
        os.write(self._answer_fd, frame.pack())

    def load(self, source: str, raw: bool = False) -> bool:
        """Run the candidate's module and say whether it is ready; return False where it is not."""
        self._lines = source.splitlines()
        cached = (len(source), None, [line + "\n" for line in self._lines], FILENAME)
        linecache.cache[FILENAME] = cached
        # Annotations are for readers: a candidate may name types that do not exist here.
        flags = __future__.annotations.compiler_flag
        try:
            code = compile(source, FILENAME, "exec", flags=flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.say(READY_SEQ, Status.SYNTAX, describe_syntax(error))
            return False
        namespace = candidate_namespace(raw)
        try:
            exec(code, namespace)
        except BaseException as error:
            self.say(READY_SEQ, *describe(error, self._lines))
            return False
        for method, name in ((Method.COMPUTE_REWARD, ENTRY), (Method.POTENTIAL, POTENTIAL)):
            function = namespace.get(name)
            if isinstance(function, types.FunctionType):
                self._functions[method] = function
        if Method.COMPUTE_REWARD not in self._functions:
            self.say(READY_SEQ, Status.SIGNATURE, f"the code defines no function {ENTRY}")
            return False
        self.say(READY_SEQ, Status.READY, n=int(Method.POTENTIAL in self._functions))
        return True

    def serve(self) -> None:
        """Answer requests until the caller closes its end."""
        while True:
            data = os.read(self._request_fd, REQUEST.size)
            if len(data) != REQUEST.size:
                return
            self._answer_one(*REQUEST.unpack(data))

    def _answer_one(self, seq: int, method: int, n: int) -> None:
        started = time.thread_time_ns()
        try:
            k = self._reward(n) if method == _COMPUTE_REWARD else self._potential(n)
        except BaseException as error:
            status, text = describe(error, self._lines)
            self.say(seq, status, text, n, cpu_ns=time.thread_time_ns() - started)
            return
        cpu_ns = time.thread_time_ns() - started
        frame = ANSWER.pack(seq, _OK, n, k, self._names_version, self._names_bytes, cpu_ns)
        os.write(self._answer_fd, frame)

    def _reward(self, n: int) -> int:
        _, arguments, _ = self._views.get(n) or self._make_views(n)
        reward, components = check_reward(self._functions[_COMPUTE_REWARD](*arguments), n)
        names = tuple(components)
        if names != self._names:
            self._publish(names)
        output = self._output(n, len(names))
        output[0] = reward
        for row, values in enumerate(components.values(), 1):
            output[row] = values
        return len(names)

    def _potential(self, n: int) -> int:
        if _POTENTIAL not in self._functions:
            raise BadAnswerError(f"the code defines no function {POTENTIAL}")
        _, _, state = self._views.get(n) or self._make_views(n)
        phi = check_numbers("the potential", self._functions[_POTENTIAL](state), n)
        self._output(n, 0)[0] = phi
        return 0

    def _publish(self, names: tuple[str, ...]) -> None:
        data = json.dumps(names).encode()
        if len(data) > MAX_TEXT_BYTES:
            raise BadAnswerError("the component names are too long")
        self._names = names
        self._names_version += 1
        self._names_bytes = len(data)
        start = self._geometry.text_offset
        self._answer[start : start + len(data)] = data

    def _make_views(self, n: int) -> tuple[RequestViews, tuple[Any, ...], Any]:
        if len(self._views) >= _MAX_CACHED_SIZES:
            self._views.clear()
        views = self._geometry.request_views(self._request, n)
        made = views, self._batches.arguments(views), self._batches.state(views)
        self._views[n] = made
        return made

    def _output(self, n: int, k: int) -> Any:
        output = self._outputs.get((n, k))
        if output is None:
            if len(self._outputs) >= _MAX_CACHED_SIZES:
                self._outputs.clear()
            output = self._outputs[n, k] = self._geometry.answer_view(self._answer, n, k)
        return output


def run_job(
    job: dict[str, Any], fds: list[int], raw: bool = False, kind: lock.Kind = "full"
) -> None:  # pragma: no cover
    """Be the reward process of one job; what it calls is tested in-process.

    Args:
        job: source, geometry and limits.
        fds: request memory, answer memory, output file, request pipe, answer pipe.
        raw: whether this fork server exists for tests of the lock: only then may a job leave it off.
        kind: how much of a lock is put on.
    """
    parent = os.getppid()
    request_memory, answer_memory, output, request_fd, answer_fd = fds
    geometry = Geometry.from_wire(**job["geometry"])
    request = mmap.mmap(request_memory, geometry.request_bytes, mmap.MAP_SHARED, mmap.PROT_READ)
    answer = mmap.mmap(answer_memory, geometry.answer_bytes)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if job["cpus"]:
        os.sched_setaffinity(0, job["cpus"])
    server = RewardServer(geometry, request, answer, request_fd, answer_fd)
    lock.close_all_but((request_fd, answer_fd))
    if raw and job["unlocked"]:
        os.chdir(job["folder"])
        server.say(LOCKED_SEQ, Status.LOCKED)
    else:
        try:
            applied = lock.apply(lock.Caps(**job["limits"]), parent, kind)
        except lock.LockError as error:
            server.say(LOCKED_SEQ, Status.LOCK_FAILED, str(error))
            return
        server.say(LOCKED_SEQ, Status.LOCKED, n=applied.landlock_abi, k=applied.flags)
    if server.load(job["source"], raw):
        server.serve()
