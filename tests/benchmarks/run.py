"""Benchmarks as ratios within one run: `make bench`, or `python tests/benchmarks/run.py [NAME ...]`.

Absolute times depend on the machine and on what else it does; a ratio of two things that take turns in one
process hardly does. Prints a table and writes `runs/bench.json`.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from rich.console import Console
from rich.table import Table

from rewardsmith.contract.layout import ActionSpec
from rewardsmith.errors import RewardsmithError
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits
from rewardsmith.services.sandbox.cores import FollowingClient
from rewardsmith.services.sandbox.factory import BACKENDS
from rewardsmith.services.sandbox.forked import ForkedSandbox
from rewardsmith.services.tasks.catalog import load_task
from rewardsmith.services.tasks.schema import Task
from rewardsmith.stages.preference import preference_accuracy, preference_pairs
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import RewardAnswer, Trajectory, Transitions
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.rewards import GuardedReward, RewardSource, baseline_source
from rewardsmith.worker.trainer.taskenv import EnvMaker
from rewardsmith.worker.trainer.training import Training

REWARD = """
def compute_reward(state, action, next_state):
    hand_to_handle = np.linalg.norm(next_state.hand_pos - next_state.handle_pos, axis=-1)
    handle_to_goal = np.linalg.norm(next_state.handle_pos - next_state.goal_pos, axis=-1)
    reach = np.exp(-5.0 * hand_to_handle)
    opening = 2.0 * np.exp(-10.0 * handle_to_goal)
    effort = -0.01 * np.sum(np.square(action), axis=-1)
    return reach + opening + effort, {"reach": reach, "opening": opening, "effort": effort}
"""
TASK = "metaworld/drawer-open"
N_ROUNDS = 8
N_CALLS = 2000
N_STORED_STEPS = 200_000


@dataclass(frozen=True)
class Row:
    """One benchmark: what was measured, the figure, and the bound it must keep, if there is one."""

    name: str
    value: float
    unit: str
    bound: str | None = None
    holds: bool | None = None


def in_process_reward(task: Task) -> Callable[[Transitions], RewardAnswer]:
    """Return the benchmark's reward called in this process, as systems without a sandbox do."""
    namespace: dict[str, object] = {"np": np}
    exec(REWARD, namespace)
    compute = namespace["compute_reward"]
    assert callable(compute)

    def call(batch: Transitions) -> RewardAnswer:
        state = SimpleNamespace(**task.layout.view(batch.state))
        next_state = SimpleNamespace(**task.layout.view(batch.next_state), terminated=batch.terminated)
        reward, components = compute(state, batch.action, next_state)
        return RewardAnswer(reward=reward, components=components, cpu_s=0.0)

    return call


def training_throughput() -> Iterator[Row]:
    """PPO on drawer-open at the task's 8 environments: reward in its box, in-process, and human."""
    task = load_task(TASK)
    maker, measures = EnvMaker(task), Measures(task)
    spec = RewardSpec(layout=task.layout, action=ActionSpec(dim=4), max_rows=256)
    sources: dict[str, RewardSource] = {
        "in-process": GuardedReward(in_process_reward(task), seed=0),
        "human": baseline_source("human", measures),
    }
    with ExitStack() as stack:
        boxes = _backends(stack)
        for name, sandbox in boxes.items():
            process = stack.enter_context(sandbox.open(REWARD, spec, SandboxLimits(cpu_s=600)))
            sources[name] = GuardedReward(FollowingClient(process._client).call, seed=0)
        seconds = _take_turns(maker, measures, sources)
    for name in boxes:
        ratio = seconds["in-process"] / seconds[name]
        yield Row(f"training throughput, {name} / in-process", ratio, "ratio", ">= 0.90", ratio >= 0.90)
        ratio = seconds["human"] / seconds[name]
        yield Row(f"training throughput, {name} / environment's own reward", ratio, "ratio")


def _backends(stack: ExitStack) -> dict[str, ForkedSandbox]:
    """Return the backends that work here, by name; what does not is told."""
    found = {}
    for name in ("local", "docker"):
        try:
            found[name] = stack.enter_context(BACKENDS[name]())
        except RewardsmithError as error:
            print(f"not measured: sandbox {name}: {error}", file=sys.stderr)
    return found


def _take_turns(maker: EnvMaker, measures: Measures, sources: dict[str, RewardSource]) -> dict[str, float]:
    """Return the median seconds of one rollout with its update, for each source; they take turns."""
    config = maker.task.file.training
    steps = config.n_envs * int(config.hyperparameters["n_steps"])
    trainings = {
        name: Training(
            maker,
            measures,
            source,
            seed=0,
            judge_seeds=[],
            total_timesteps=steps * (N_ROUNDS + 1),
            origin=name,
        )
        for name, source in sources.items()
    }
    taken: dict[str, list[float]] = {name: [] for name in sources}
    for turn in range(N_ROUNDS + 1):
        for name, training in trainings.items():
            started = time.perf_counter()
            training.advance(steps * (turn + 1))
            if turn:
                taken[name].append(time.perf_counter() - started)
    for training in trainings.values():
        training.close()
    return {name: statistics.median(values) for name, values in taken.items()}


def reward_calls() -> Iterator[Row]:
    """One call of 8 rows, in its box and in-process; starting and ending a reward process."""
    task = load_task(TASK)
    rng = np.random.default_rng(0)
    dim = task.layout.dim
    batch = Transitions(
        state=rng.normal(size=(8, dim)),
        action=rng.normal(size=(8, 4)),
        next_state=rng.normal(size=(8, dim)),
        terminated=np.zeros(8, dtype=np.bool_),
    )
    spec = RewardSpec(layout=task.layout, action=ActionSpec(dim=4), max_rows=256)
    yield Row("reward call of 8 rows, in-process", _median_us(in_process_reward(task), batch), "us")
    with ExitStack() as stack:
        for name, sandbox in _backends(stack).items():
            with sandbox.open(REWARD, spec, SandboxLimits()) as process:
                call_us = _median_us(FollowingClient(process._client).call, batch)
            yield Row(f"reward call of 8 rows, {name}", call_us, "us")
            started = time.perf_counter()
            for _ in range(50):
                sandbox.open(REWARD, spec, SandboxLimits()).close()
            each_ms = 1000 * (time.perf_counter() - started) / 50
            yield Row(f"start and end of a reward process, {name}", each_ms, "ms")


def _median_us(call: Callable[[Transitions], RewardAnswer], batch: Transitions) -> float:
    times = []
    for _ in range(N_CALLS):
        started = time.perf_counter()
        call(batch)
        times.append(time.perf_counter() - started)
    return 1e6 * statistics.median(times)


def preference_scoring() -> Iterator[Row]:
    """A store of 200,000 steps scored by one reward: in its box in large batches, and step by step."""
    task = load_task(TASK)
    store = _made_up_store(task.layout.dim, n_steps=N_STORED_STEPS)
    pairs = preference_pairs(store.fitness, store.progress, min_gap=0.01)
    call = in_process_reward(task)
    started = time.perf_counter()
    looped = np.array(
        [call(store.transitions.take(slice(i, i + 1))).reward[0] for i in range(len(store.transitions))]
    )
    score = preference_accuracy(store.returns(looped)[None, :], pairs)
    looped_s = time.perf_counter() - started
    yield Row(f"TPE over {N_STORED_STEPS:,} steps, step by step in-process", looped_s, "s")
    with ExitStack() as stack:
        for name, sandbox in _backends(stack).items():
            spec = RewardSpec(layout=task.layout, action=ActionSpec(dim=4))
            with sandbox.open(REWARD, spec, SandboxLimits()) as process:
                process.call(store.transitions.take(slice(0, spec.max_rows)))
                started = time.perf_counter()
                answer = process.call(store.transitions)
                batched = preference_accuracy(store.returns(answer.reward)[None, :], pairs)
                taken_s = time.perf_counter() - started
            if score is None or batched is None or abs(score[0] - batched[0]) > 1e-12:
                raise AssertionError(f"the scores differ: {score} step by step, {batched} in {name}")
            ratio = looped_s / taken_s
            what = f"TPE over {N_STORED_STEPS:,} steps, step by step / {name}, with the same score"
            yield Row(what, ratio, "ratio", ">= 20", ratio >= 20.0)


def _made_up_store(dim: int, n_steps: int, length: int = 50) -> TrajectoryStore:
    rng = np.random.default_rng(0)
    episodes = [
        Trajectory(
            state=rng.normal(size=(length + 1, dim)),
            action=rng.normal(size=(length, 4)),
            terminated=False,
            fitness=float(rng.random() > 0.7),
            progress=float(rng.random()),
            success=None,
            success_last=None,
            origin="made up",
        )
        for _ in range(n_steps // length)
    ]
    return TrajectoryStore().grown(episodes, "made up")


def command_start() -> Iterator[Row]:
    """`rewardsmith --help` beside a bare interpreter."""
    bare = _median_s([sys.executable, "-c", "pass"])
    helped = _median_s([sys.executable, "-m", "rewardsmith", "--help"])
    yield Row("rewardsmith --help", helped, "s")
    yield Row("rewardsmith --help / python -c pass", helped / bare, "ratio")


def _median_s(command: list[str]) -> float:
    times = []
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


BENCHMARKS = {
    "training": training_throughput,
    "calls": reward_calls,
    "preference": preference_scoring,
    "start": command_start,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks (all by default); return 1 if a bound is broken."""
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f"unknown benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in names or BENCHMARKS:
        print(f"running {name} ...", file=sys.stderr)
        rows += BENCHMARKS[name]()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    table = Table("what", "figure", "bound", title=f"rewardsmith benchmarks ({machine})")
    for row in rows:
        verdict = "" if row.holds is None else f"{row.bound} {'holds' if row.holds else 'BROKEN'}"
        table.add_row(row.name, f"{row.value:.3g} {row.unit}", verdict)
    Console().print(table)
    out = Path("runs") / "bench.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=2))
    return 1 if any(row.holds is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
