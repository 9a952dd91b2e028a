"""What a trainer process can be asked to do; each job answers through one channel."""

import json
import socket
from pathlib import Path
from typing import Any, Protocol

from rewardsmith.arrays import dump_arrays, load_arrays
from rewardsmith.errors import CandidateError, TaskError
from rewardsmith.trajectories import dump_trajectories
from rewardsmith.types import EXPERT, RANDOM, FloatArray, RewardAnswer, Transitions
from rewardsmith.worker.trainer.check import check_task
from rewardsmith.worker.trainer.episodes import MixedActor, NoiseActor, play_episodes
from rewardsmith.worker.trainer.frames import Projector, load_episode
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.rewards import (
    GuardedReward,
    RewardSource,
    SparseAndShaping,
    baseline_source,
)
from rewardsmith.worker.trainer.spaces import action_spec
from rewardsmith.worker.trainer.taskenv import EnvMaker
from rewardsmith.worker.trainer.training import Checkpoint, Training, check_learner, rollout_steps

Message = dict[str, Any]
OF_CANDIDATES = ("box", "potential")
"""Values of a job's `reward` that mean a candidate: its reward, or the shaping term of its potential."""


class RewardBox(Protocol):
    """What a trainer may ask of a candidate."""

    def call(self, batch: Transitions) -> RewardAnswer:
        """Return the reward of a batch."""
        ...

    def potential(self, state: FloatArray) -> FloatArray:
        """Return the potential of states."""
        ...


class Channel(Protocol):
    """Messages to and from the driver."""

    def send(self, message: Message) -> None:
        """Send one message."""
        ...

    def receive(self) -> Message | None:
        """Wait for the driver's next message; None when it has gone away."""
        ...


class SocketChannel:
    """A channel of JSON lines over a stream socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rwb")

    def send(self, message: Message) -> None:
        """Send one message."""
        self._file.write(json.dumps(message, allow_nan=False).encode() + b"\n")
        self._file.flush()

    def receive(self) -> Message | None:
        """Wait for the driver's next message."""
        line = self._file.readline()
        return json.loads(line) if line else None


def run_job(
    job: Message, maker: EnvMaker, measures: Measures, channel: Channel, reward: RewardBox | None
) -> None:
    """Run one job and report how it ended.

    Args:
        job: `{"kind": "describe" | "store" | "train" | "check" | "frames", ...}`.
        maker: makes the task's environments.
        measures: the task's measures.
        channel: to the driver.
        reward: the box, for trainings under a candidate.
    """
    jobs = {
        "describe": _describe,
        "store": _store,
        "train": _train,
        "check": _check,
        "frames": _frames,
    }
    try:
        jobs[job["kind"]](job, maker, measures, channel, reward)
        channel.send({"event": "done"})
    except TaskError as error:
        channel.send({"event": "task_error", "message": str(error)})
    except Exception as error:
        channel.send({"event": "error", "message": f"{type(error).__name__}: {error}"})
        raise


def _describe(
    job: Message, maker: EnvMaker, measures: Measures, channel: Channel, _: RewardBox | None
) -> None:
    """Say what the driver must know of environment and learner, neither of which it imports."""
    spec = action_spec(maker.make().action_space, maker.task.name)
    check_learner(maker)
    channel.send(
        {
            "event": "describe",
            "action": {"dim": spec.dim, "discrete": spec.discrete, "low": spec.low, "high": spec.high},
            "horizon": maker.horizon(),
            "rollout_steps": rollout_steps(maker.task),
        }
    )


def _store(job: Message, maker: EnvMaker, measures: Measures, channel: Channel, _: RewardBox | None) -> None:
    """Play random episodes, and some of the task's expert; the first trajectories of a run."""
    seeds: list[int] = job["seeds"]
    envs = [maker.make() for _ in range(min(len(seeds), 4))]
    act = NoiseActor(envs[0].action_space, seeds)
    trajectories = play_episodes(envs, seeds, act, measures, RANDOM)
    expert_seeds: list[int] = job["expert_seeds"]
    if expert_seeds:
        noise = NoiseActor(envs[0].action_space, expert_seeds)
        longest = maker.horizon() or max(map(len, trajectories))
        mixed = MixedActor(maker.expert(), noise, expert_seeds, longest)
        trajectories += play_episodes(envs, expert_seeds, mixed, measures, EXPERT)
    Path(job["out_file"]).write_bytes(dump_trajectories(trajectories))
    channel.send({"event": "store", "env_steps": sum(map(len, trajectories))})


def _check(job: Message, maker: EnvMaker, measures: Measures, channel: Channel, _: RewardBox | None) -> None:
    """Test the task's own contract."""
    channel.send({"event": "check", "findings": check_task(maker, measures, seed=job["seed"])})


def _frames(job: Message, maker: EnvMaker, measures: Measures, channel: Channel, _: RewardBox | None) -> None:
    """Play recorded episodes again and write pictures of them, `frames_0` of the first and so on."""
    projector = Projector(maker, width=job["width"], height=job["height"])
    try:
        films = [
            projector.film(load_episode(e["file"], e["index"]), e["seed"], job["n_frames"])
            for e in job["episodes"]
        ]
    finally:
        projector.close()
    arrays = {f"frames_{number}": film.frames for number, film in enumerate(films)}
    Path(job["out_file"]).write_bytes(dump_arrays(arrays))
    channel.send(
        {
            "event": "frames",
            "episodes": [{"steps": f.steps, "replayed_exactly": f.replayed_exactly} for f in films],
            "env_steps": sum(film.env_steps for film in films),
        }
    )


def _train(
    job: Message, maker: EnvMaker, measures: Measures, channel: Channel, reward: RewardBox | None
) -> None:
    """Train to each checkpoint in turn; after one that is a rung, wait for "continue"."""
    training = Training(
        maker,
        measures,
        _source(job, maker, measures, reward),
        seed=job["seed"],
        judge_seeds=job["judge_seeds"],
        total_timesteps=job["total_timesteps"],
        origin=job["origin"],
    )
    try:
        for step in job["checkpoints"]:
            checkpoint = training.advance(step)
            channel.send(_report(checkpoint, step, job, reward))
            if step in job["rungs"] and step != job["checkpoints"][-1]:
                command = channel.receive()
                if command is None or command["command"] != "continue":
                    return
    except CandidateError as failure:
        channel.send(
            {"event": "failed", "code": failure.code, "message": failure.message, "step": training.step}
        )
    finally:
        training.close()


def _source(job: Message, maker: EnvMaker, measures: Measures, reward: RewardBox | None) -> RewardSource:
    if job["reward"] not in OF_CANDIDATES:
        return baseline_source(job["reward"], measures)
    assert reward is not None
    reference: list[tuple[Transitions, FloatArray]] = []
    if job.get("reference_file"):
        arrays = load_arrays(Path(job["reference_file"]).read_bytes())
        expected = arrays.pop("reward")
        reference = [(Transitions(**arrays), expected)]
    if job["reward"] == "potential":
        gamma = maker.task.file.training.gamma
        return SparseAndShaping(reward.potential, measures, gamma, job["seed"], reference)
    return GuardedReward(reward.call, job["seed"], reference)


def _report(checkpoint: Checkpoint, planned_step: int, job: Message, reward: RewardBox | None) -> Message:
    trajectories = checkpoint.trajectories
    # The planned step, not the one reached: a long rollout may reach two planned steps at once.
    path = Path(job["out_dir"]) / f"{planned_step}.npz"
    path.write_bytes(dump_trajectories(trajectories))
    returns = None
    if job["reward"] in OF_CANDIDATES and reward is not None:
        returns = [float(reward.call(t.transitions()).reward.sum()) for t in trajectories]
    return {
        "event": "checkpoint",
        "step": checkpoint.step,
        "judge_steps": sum(map(len, trajectories)),
        "trajectories": str(path),
        "fitness": [t.fitness for t in trajectories],
        "progress": [t.progress for t in trajectories],
        "success": [t.success for t in trajectories],
        "success_last": [t.success_last for t in trajectories],
        "length": [len(t) for t in trajectories],
        "return": returns,
        "own_return": checkpoint.own_return,
        "own_length": checkpoint.own_length,
        "statistics": checkpoint.statistics,
        "time_s": checkpoint.time_s,
    }
