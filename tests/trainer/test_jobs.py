"""What a trainer answers to each job, through a channel that only collects."""

import json
import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rewardsmith.arrays import dump_arrays
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.trajectories import load_trajectories
from rewardsmith.types import RewardAnswer
from rewardsmith.worker.trainer.jobs import SocketChannel, run_job
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import EnvMaker
from toy_tasks import MEASURED
from trainer.walks import CART_POLE, box, rows


class Collected:
    """A driver that gives prepared commands, then hangs up."""

    def __init__(self, *commands):
        self.messages, self.commands = [], list(commands)
        self.n_asked = 0

    def send(self, message):
        json.dumps(message, allow_nan=False)
        self.messages.append(message)

    def receive(self):
        self.n_asked += 1
        return self.commands.pop(0) if self.commands else None


def run(task, job, *commands, reward=None, potential=None):
    channel = Collected(*commands)
    box = SimpleNamespace(call=reward, potential=potential) if reward else None
    run_job(job, EnvMaker(task), Measures(task), channel, box)
    return channel.messages


def train_job(folder, **changes):
    job = {
        "kind": "train",
        "reward": "human",
        "seed": 3,
        "judge_seeds": [101, 102],
        "total_timesteps": 96,
        "checkpoints": [32, 64, 96],
        "rungs": [64, 96],
        "origin": "i01/c02",
        "out_dir": str(folder),
    }
    return job | changes


def test_a_store_holds_one_random_episode_for_each_seed(toy_task, tmp_path):
    job = {
        "kind": "store",
        "seeds": [4, 5, 6, 7, 8],
        "expert_seeds": [],
        "out_file": str(tmp_path / "store.npz"),
    }
    first, last = run(toy_task(), job)
    assert first == {"event": "store", "env_steps": 15}
    assert last == {"event": "done"}
    episodes = load_trajectories((tmp_path / "store.npz").read_bytes())
    assert [(t.state[0, 0], t.origin) for t in episodes] == [(i, "random") for i in (4, 5, 6, 7, 8)]


def test_a_description_tells_of_actions_episodes_and_rollouts(toy_task):
    env = {"factory": "env.py:make", "max_episode_steps": 7, "action_repeat": 2}
    first, last = run(toy_task({"env": env}), {"kind": "describe"})
    assert first == {
        "event": "describe",
        "action": {"dim": 2, "discrete": False, "low": (-1.0, -1.0), "high": (1.0, 1.0)},
        "horizon": 4,
        "rollout_steps": 32,
    }
    assert last == {"event": "done"}


def test_discrete_actions_and_the_environments_own_limit_are_described(toy_task):
    message, _ = run(toy_task(CART_POLE | {"env": {"id": "CartPole-v1"}}), {"kind": "describe"})
    assert message["action"]["discrete"] is True
    assert message["horizon"] == 500


def test_what_nothing_tells_is_none_and_what_is_not_set_is_the_learners_own(toy_task):
    training = {"algorithm": "PPO", "n_envs": 2}
    message, _ = run(toy_task({"training": training}), {"kind": "describe"})
    assert message["horizon"] is None
    assert message["rollout_steps"] == 2 * 2048
    off_policy = {"algorithm": "DQN", "n_envs": 2}
    message, _ = run(toy_task(CART_POLE | {"training": off_policy}), {"kind": "describe"})
    assert message["rollout_steps"] == 2 * 4


def test_actions_that_no_reward_can_read_are_refused_before_anything_is_played(toy_task):
    (message,) = run(toy_task({"env": {"factory": "env.py:make_odd"}}), {"kind": "describe"})
    assert message["event"] == "task_error"
    assert "actions of Box(-1.0, 1.0, (2, 2), float32) are not supported" in message["message"]


def test_a_check_answers_findings(toy_task):
    first, last = run(toy_task(), {"kind": "check", "seed": 0})
    assert first["event"] == "check"
    assert {finding["level"] for finding in first["findings"]} <= {"ok", "warning", "error"}
    assert last == {"event": "done"}


def test_a_training_reports_every_checkpoint_and_waits_only_at_rungs_before_the_last(toy_task, tmp_path):
    channel = Collected({"command": "continue"})
    task = toy_task(MEASURED)
    run_job(train_job(tmp_path), EnvMaker(task), Measures(task), channel, None)
    assert [m["event"] for m in channel.messages] == ["checkpoint"] * 3 + ["done"]
    assert [m.get("step") for m in channel.messages] == [32, 64, 96, None]
    assert channel.n_asked == 1


def test_a_checkpoint_tells_of_its_judged_episodes(toy_task, tmp_path):
    message = run(toy_task(MEASURED), train_job(tmp_path), {"command": "continue"})[0]
    assert message["judge_steps"] == 6
    assert message["length"] == [3, 3]
    assert message["fitness"] == [3.0, 3.0]
    assert message["success"] == message["success_last"] == [False, False]
    assert message["progress"] == [pytest.approx(0.2)] * 2
    assert message["return"] is None, "a baseline has no return of its own here"
    episodes = load_trajectories(Path(message["trajectories"]).read_bytes())
    assert [t.state[0, 0] for t in episodes] == [1, 2]
    assert episodes[0].origin == "i01/c02/32"


@pytest.mark.parametrize("commands", [[{"command": "stop"}], []])
def test_a_training_that_is_told_to_stop_or_hears_nothing_ends_at_its_rung(toy_task, tmp_path, commands):
    messages = run(toy_task(), train_job(tmp_path), *commands)
    assert [m.get("step") for m in messages] == [32, 64, None]
    assert messages[-1] == {"event": "done"}


def test_two_checkpoints_within_one_rollout_have_files_of_their_own(toy_task, tmp_path):
    job = train_job(tmp_path, checkpoints=[10, 20], rungs=[20])
    first, second, _ = run(toy_task(), job)
    assert first["step"] == second["step"] == 32
    assert first["trajectories"] != second["trajectories"]


def test_a_candidates_training_tells_its_own_returns(toy_task, tmp_path):
    job = train_job(tmp_path, reward="box", checkpoints=[32], rungs=[32])
    message, _ = run(toy_task(), job, reward=box)
    assert message["return"] == [2.0 * (2 + 3 + 4), 2.0 * (3 + 4 + 5)]
    assert set(message["statistics"][0]["components"]) == {"place"}
    assert message["statistics"][0]["reward"]["mean"] > 0.0


def test_a_potential_pays_success_and_the_shaping_term(toy_task, tmp_path):
    def potential(state):
        return 10.0 * state[:, 0]

    job = train_job(tmp_path, reward="potential", checkpoints=[32], rungs=[32])
    message, _ = run(toy_task(), job, reward=box, potential=potential)
    components = message["statistics"][0]["components"]
    assert set(components) == {"success", "shaping"}
    gamma = toy_task().file.training.gamma
    # Every step goes one place on, and the first episode of all begins in place 3.
    assert components["shaping"]["max"] == pytest.approx(gamma * 40.0 - 30.0)
    # An episode that ends by itself loses all of its potential.
    assert components["shaping"]["min"] < -40.0
    assert 0.0 < components["success"]["mean"] < 1.0


def test_a_potential_that_changes_its_mind_is_reported(toy_task, tmp_path):
    calls = []

    def potential(state):
        calls.append(state)
        return state[:, 0] + (len(calls) > 6)

    job = train_job(tmp_path, reward="potential", checkpoints=[32], rungs=[32])
    assert run(toy_task(), job, reward=box, potential=potential)[0]["code"] == "drift"


class Failing:
    """A box whose candidate fails after some calls."""

    def __init__(self, after, error):
        self.after, self.error = after, error

    def __call__(self, batch):
        self.after -= 1
        if self.after < 0:
            raise self.error
        return box(batch)


def test_a_candidate_that_fails_is_reported_with_its_reason_and_step(toy_task, tmp_path):
    failing = Failing(20, CandidateError(FailureCode.NON_FINITE, "reward is NaN"))
    messages = run(toy_task(), train_job(tmp_path, reward="box"), reward=failing)
    step = messages[-2]["step"]
    assert messages[-2] == {"event": "failed", "code": "non_finite", "message": "reward is NaN", "step": step}
    assert 32 <= step <= 42
    assert messages[-1] == {"event": "done"}


def test_a_candidate_that_answers_otherwise_than_in_validation_is_reported(toy_task, tmp_path):
    batch = rows(3)
    file = tmp_path / "reference.npz"
    arrays = {name: getattr(batch, name) for name in ("state", "action", "next_state", "terminated")}
    job = train_job(tmp_path, reward="box", checkpoints=[32], rungs=[32], reference_file=str(file))
    file.write_bytes(dump_arrays(arrays | {"reward": box(batch).reward}))
    assert run(toy_task(), job, reward=box)[0]["event"] == "checkpoint"
    file.write_bytes(dump_arrays(arrays | {"reward": box(batch).reward + 1.0}))
    assert run(toy_task(), job, reward=box)[0]["code"] == "drift"


def test_a_tasks_own_fault_is_an_error_in_its_words(toy_task, tmp_path):
    code = "def fitness(episode):\n    return float('nan')\n"
    task = toy_task({"fitness": "fitness.py"}, {"fitness.py": code})
    (message,) = run(task, train_job(tmp_path))
    assert message == {"event": "task_error", "message": "toy/walk: the fitness of an episode is nan"}


def test_a_fault_in_the_tasks_code_names_file_line_and_function(toy_task, tmp_path):
    code = "def fitness(episode):\n    raise RuntimeError('boom')\n"
    task = toy_task({"fitness": "fitness.py"}, {"fitness.py": code})
    (message,) = run(task, train_job(tmp_path))
    assert message["event"] == "task_error"
    assert message["message"].endswith("fitness.py:2: fitness() failed (RuntimeError: boom)")


def test_rounding_of_single_precision_does_not_make_progress_wrong(toy_task, tmp_path):
    code = "def progress(state):\n    return 0.0 * state.place - {}\n"
    job = {"kind": "store", "seeds": [4], "expert_seeds": [], "out_file": str(tmp_path / "store.npz")}
    graded = {"progress": {"source": "fitness.py"}}
    good = toy_task(graded, {"fitness.py": code.format("3e-8")})
    assert run(good, job)[0]["event"] == "store"
    bad = toy_task(graded, {"fitness.py": code.format("1e-3")})
    (message,) = run(bad, job)
    assert "it answered -0.001 to place" in message["message"]


def test_any_other_fault_is_told_and_raised(toy_task, tmp_path):
    channel = Collected()
    task = toy_task()

    def broken(batch):
        raise ArithmeticError("not a candidate's failure")

    job = train_job(tmp_path, reward="box")
    with pytest.raises(ArithmeticError):
        run_job(job, EnvMaker(task), Measures(task), channel, SimpleNamespace(call=broken))
    assert channel.messages == [{"event": "error", "message": "ArithmeticError: not a candidate's failure"}]


def test_a_channel_speaks_json_lines_until_the_other_end_closes():
    ours, theirs = socket.socketpair()
    channel = SocketChannel(theirs)
    channel.send({"event": "done", "text": "ä\n"})
    assert json.loads(ours.recv(1000)) == {"event": "done", "text": "ä\n"}
    ours.sendall(b'{"command": "continue"}\n{"command"')
    assert channel.receive() == {"command": "continue"}
    threading.Timer(0.05, lambda: (ours.sendall(b': "stop"}\n'), ours.close())).start()
    assert channel.receive() == {"command": "stop"}
    assert channel.receive() is None
    theirs.close()


def test_a_channel_refuses_what_is_no_json():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ValueError, match="not JSON compliant"):
        SocketChannel(theirs).send({"fitness": float("nan")})


def test_a_reward_that_answers_numpy_scalars_reaches_the_driver_as_json(toy_task, tmp_path):
    def single(batch):
        return RewardAnswer(reward=np.float32(1.0) * np.ones(len(batch)), components={}, cpu_s=0.0)

    job = train_job(tmp_path, reward="box", checkpoints=[32], rungs=[32])
    assert run(toy_task(), job, reward=single)[0]["return"] == [3.0, 3.0]
