"""Trains a policy under a candidate or a baseline, rung by rung."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rewardsmith.arrays import dump_arrays
from rewardsmith.errors import CandidateError, FailureCode, TrainerError
from rewardsmith.services.executor.trainers import Message, TrainerHost, TrainerJob, TrainerTimeoutError
from rewardsmith.services.journal.objects import ObjectStore
from rewardsmith.services.sandbox.base import RewardProcess, RewardSpec, Sandbox, SandboxLimits
from rewardsmith.types import FloatArray, Transitions

DEATH_TIMEOUT_S = 2.0

OnCheckpoint = Callable[[str, Message], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """One training, from its first step to its last rung.

    Attributes:
        key: structural key, such as `i01/c02`.
        source: reward code, or None for a baseline.
        baseline: `human`, `sparse`, `zero` or `progress`, or None for a candidate.
        shaping: whether the candidate is a potential, and the learner is paid its shaping term and success.
        seed: of learner and environments.
        judge_seeds: held-out episodes that are played at every checkpoint.
        checkpoints: policy steps at which the policy is judged, rising; the last ends the training.
        rungs: those checkpoints after which the training waits to be told whether to go on.
        reference: transitions with the reward that the candidate answered before; asked again in training.
    """

    key: str
    source: str | None
    baseline: str | None = None
    shaping: bool = False
    seed: int
    judge_seeds: tuple[int, ...]
    checkpoints: tuple[int, ...]
    rungs: tuple[int, ...]
    reference: tuple[Transitions, FloatArray] | None = None

    @property
    def total_timesteps(self) -> int:
        """Planned length in policy steps."""
        return self.checkpoints[-1]

    def request(self, rung: int) -> dict[str, Any]:
        """Return what identifies the work up to a rung, ready for the journal."""
        return {
            "source": self.source,
            "baseline": self.baseline,
            "shaping": self.shaping,
            "seed": self.seed,
            "judge_seeds": list(self.judge_seeds),
            "checkpoints": list(self.checkpoints),
            "rung": self.rungs[rung],
        }


@dataclass
class _Session:
    job: TrainerJob
    box: RewardProcess | None
    folder: Path
    left_s: float
    next_checkpoint: int = 0
    step: int = 0


@dataclass
class TrainingRunner:
    """Runs training plans; a plan's trainer stays alive between its rungs.

    Attributes:
        host: starts trainers.
        sandbox: starts reward processes.
        objects: where judged trajectories go.
        spec: the shape of reward calls.
        scratch: a folder for files on their way.
        timeout_s: wall-clock limit of one training, over all its rungs but without the waiting between them.
        on_checkpoint: told of every judged policy.
    """

    host: TrainerHost
    sandbox: Sandbox
    objects: ObjectStore
    spec: RewardSpec
    scratch: Path
    timeout_s: float
    on_checkpoint: OnCheckpoint = lambda key, message: None
    _sessions: dict[str, _Session] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_cancelled: bool = False

    def advance(self, plan: TrainingPlan, rung: int) -> dict[str, Any]:
        """Train up to a rung and return its judged checkpoints, ready for the journal.

        A training whose trainer is gone, since the run was resumed, starts again from step 0; the checkpoints
        of earlier rungs are then played again and left out of the answer.

        Returns:
            `checkpoints` since the last rung, `failure` (code and message, or None), `env_steps`, `wall_s`.

        Raises:
            TrainerError: the trainer failed for a reason that is not the candidate's.
            SandboxUnavailableError: the box failed.
        """
        started = time.perf_counter()
        checkpoints: list[Message] = []
        failure: CandidateError | None = None
        before = plan.rungs[rung - 1] if rung else 0
        first_step = last_step = 0
        session: _Session | None = None
        try:
            session = self._session(plan, goes_on=rung > 0)
            first_step = session.step
            for checkpoint in self._until(session, plan, plan.rungs[rung]):
                last_step = checkpoint["step"]
                if checkpoint["planned_step"] <= before:
                    first_step = last_step
                    continue
                checkpoints.append(checkpoint)
                self.on_checkpoint(plan.key, checkpoint)
        except CandidateError as error:
            failure = error
            last_step = session.step if session else 0
        if failure is not None or rung == len(plan.rungs) - 1:
            self.stop(plan.key)
        return {
            "failure": failure and {"code": failure.code, "message": failure.message},
            "checkpoints": checkpoints,
            "env_steps": max(0, last_step - first_step) + sum(c["judge_steps"] for c in checkpoints),
            "wall_s": time.perf_counter() - started,
        }

    def stop(self, key: str) -> None:
        """End a training that is not to go on."""
        with self._lock:
            session = self._sessions.pop(key, None)
        if session is None:
            return
        self.host.end(session.job)
        if session.box is not None:
            session.box.close()
        shutil.rmtree(session.folder, ignore_errors=True)

    def cancel(self) -> None:
        """End every training for good; threads that wait for one, or start one, get a TrainerError."""
        with self._lock:
            self._is_cancelled = True
            keys = list(self._sessions)
        for key in keys:
            self.stop(key)

    def _session(self, plan: TrainingPlan, goes_on: bool) -> _Session:
        with self._lock:
            session = self._sessions.get(plan.key)
        if session is None:
            session = self._start(plan)
            with self._lock:
                self._sessions[plan.key] = session
                is_cancelled = self._is_cancelled
            if is_cancelled:
                self.stop(plan.key)
                raise TrainerError("the training was stopped")
        elif goes_on:
            session.job.send({"command": "continue"})
        return session

    def _start(self, plan: TrainingPlan) -> _Session:
        folder = self.scratch / plan.key.replace("/", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        job: dict[str, Any] = {
            "kind": "train",
            "reward": plan.baseline or ("potential" if plan.shaping else "box"),
            "seed": plan.seed,
            "judge_seeds": list(plan.judge_seeds),
            "total_timesteps": plan.total_timesteps,
            "checkpoints": list(plan.checkpoints),
            "rungs": list(plan.rungs),
            "origin": plan.key,
            "out_dir": str(folder),
        }
        if plan.source is None:
            return _Session(self.host.start(job), None, folder, self.timeout_s)
        if plan.reference is not None:
            batch, reward = plan.reference
            file = folder / "reference.npz"
            file.write_bytes(dump_arrays({**asdict(batch), "reward": reward}))
            job["reference_file"] = str(file)
        box = self.sandbox.open(plan.source, self.spec, SandboxLimits(cpu_s=int(self.timeout_s)))
        try:
            endpoint = box.endpoint()
            job["box"] = endpoint.wire
            running = self.host.start(job, endpoint.fds)
        except BaseException:
            box.close()
            raise
        return _Session(running, box, folder, self.timeout_s)

    def _until(self, session: _Session, plan: TrainingPlan, step: int) -> Iterator[Message]:
        """Yield the judged checkpoints up to and including the one planned at `step`."""
        while session.next_checkpoint < len(plan.checkpoints):
            planned = plan.checkpoints[session.next_checkpoint]
            if planned > step:
                return
            message = self._receive(session)
            if planned in plan.rungs and planned < step:
                session.job.send({"command": "continue"})
            ref = self.objects.put_file(Path(message.pop("trajectories")), move=True)
            del message["event"]
            session.next_checkpoint += 1
            session.step = message["step"]
            yield {**message, "trajectories": ref, "planned_step": planned}

    def _receive(self, session: _Session) -> Message:
        asked = time.monotonic()
        try:
            message = session.job.receive(asked + session.left_s)
        except TrainerTimeoutError:
            raise CandidateError(
                FailureCode.TIMEOUT, f"the training took longer than {self.timeout_s:.0f} s"
            ) from None
        session.left_s -= time.monotonic() - asked
        if message["event"] == "failed":
            session.step = message["step"]
            code = FailureCode(message["code"])
            # The trainer only saw the box fall silent; the sandbox knows why, once the process is gone.
            ended = code == FailureCode.CRASHED and session.box is not None
            death = session.box.death(DEATH_TIMEOUT_S) if ended and session.box else None
            raise death or CandidateError(code, message["message"])
        if message["event"] != "checkpoint":
            raise TrainerError(f"the trainer ended early: {message}")
        return message
