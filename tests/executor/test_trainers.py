"""Real trainer processes on the pendulum, all from one warm process."""

import socket
import threading
import time
from pathlib import Path

import psutil
import pytest

from processes import is_gone
from rewardsmith.errors import TaskError, TrainerError
from rewardsmith.services.executor.trainers import TrainerHost, TrainerJob, TrainerTimeoutError
from rewardsmith.services.forkserver import ForkServer, scrubbed_environment
from rewardsmith.services.sandbox.base import RewardSpec, SandboxLimits
from rewardsmith.services.sandbox.local import LocalSandbox
from rewardsmith.services.tasks.catalog import load_task
from rewardsmith.trajectories import load_trajectories
from rewardsmith.worker.trainer.spaces import action_spec
from rewardsmith.worker.trainer.taskenv import EnvMaker
from sandbox.helpers import candidate

pytestmark = pytest.mark.slow

TASK = load_task("classic/pendulum")


@pytest.fixture(scope="module")
def host():
    host = TrainerHost(TASK)
    yield host
    host.close()


@pytest.fixture(autouse=True)
def nothing_is_left_behind(host):
    """After each test the warm process has no child."""
    yield
    for job in list(host._jobs):
        host.end(job)
    if host._server.warm is not None:
        assert psutil.Process(host._server.warm.process.pid).children(recursive=True) == []


def train_job(folder, *checkpoints, rungs=(), **changes):
    job = {
        "kind": "train",
        "reward": "human",
        "seed": 1,
        "judge_seeds": [5],
        "total_timesteps": checkpoints[-1],
        "checkpoints": list(checkpoints),
        "rungs": list(rungs or checkpoints),
        "origin": "i01/c00",
        "out_dir": str(folder),
    }
    return job | changes


def within(seconds):
    return time.monotonic() + seconds


def endless(folder):
    """A training that would take hours."""
    return train_job(folder, 10**8)


def test_a_store_is_played(host, tmp_path):
    file = tmp_path / "store.npz"
    (message,) = host.run(
        {"kind": "store", "seeds": [1, 2], "expert_seeds": [], "out_file": str(file)}, timeout_s=60
    )
    assert message == {"event": "store", "env_steps": 400}
    assert [len(t) for t in load_trajectories(file.read_bytes())] == [200, 200]


def test_the_shipped_task_passes_its_check(host):
    (message,) = host.run({"kind": "check", "seed": 0}, timeout_s=60)
    assert message["event"] == "check"
    assert [f for f in message["findings"] if f["level"] == "error"] == []


def test_a_training_waits_at_its_rung_and_goes_on(host, tmp_path):
    job = host.start(train_job(tmp_path, 1024, 2048))
    deadline = within(60)
    first = job.receive(deadline)
    assert (first["event"], first["step"]) == ("checkpoint", 1024)
    with pytest.raises(TrainerTimeoutError):
        host.start(train_job(tmp_path / "absent", 10**8)).receive(within(0.1))
    assert psutil.pid_exists(job.pid), "it waits"
    job.send({"command": "continue"})
    second = job.receive(deadline)
    assert (second["event"], second["step"]) == ("checkpoint", 2048)
    assert job.receive(deadline) == {"event": "done"}
    host.end(job)


def test_a_training_that_is_told_to_stop_ends_at_its_rung(host, tmp_path):
    job = host.start(train_job(tmp_path, 1024, 2048))
    deadline = within(60)
    messages = job.messages(60)
    assert next(messages)["step"] == 1024
    job.send({"command": "stop"})
    assert list(messages) == []
    with pytest.raises(TrainerError, match=r"ended without a result \(exit code 0\)"):
        job.receive(deadline)
    host.end(job)


def test_two_trainings_of_one_seed_are_the_same(host, tmp_path):
    results = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (message,) = host.run(train_job(tmp_path / name, 1024), timeout_s=60)
        results.append((message["fitness"], message["progress"], message["own_return"]))
    assert results[0] == results[1]


def test_a_training_asks_the_box_and_reports_the_candidates_failure(host, tmp_path):
    action = action_spec(EnvMaker(TASK).make().action_space, TASK.name)
    source = candidate(
        "if (next_state.angular_velocity > 7.0).any():\n    return 1 / 0, {}\n"
        'return next_state.heading[:, 0], {"height": next_state.heading[:, 0]}'
    )
    with LocalSandbox() as sandbox:
        process = sandbox.open(source, RewardSpec(layout=TASK.layout, action=action), SandboxLimits())
        endpoint = process.endpoint()
        job = train_job(tmp_path, 10**5, reward="box", box=endpoint.wire)
        running = host.start(job, endpoint.fds)
        (message,) = running.messages(60)
        host.end(running)
        process.close()
    assert (message["event"], message["code"]) == ("failed", "raised")
    assert "ZeroDivisionError" in message["message"]
    assert message["step"] > 0


def test_a_trainer_that_is_killed_from_outside_says_how(host, tmp_path):
    job = host.start(endless(tmp_path))
    psutil.Process(job.pid).kill()
    with pytest.raises(TrainerError, match=r"the trainer ended without a result \(signal SIGKILL\)"):
        job.receive(within(30))
    with pytest.raises(TrainerError, match="the trainer was stopped"):
        job.receive(within(30))
    host.end(job)


def test_sending_to_a_trainer_that_is_gone_says_how_it_ended(host, tmp_path):
    job = host.start(endless(tmp_path))
    psutil.Process(job.pid).kill()
    while psutil.Process(job.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    with pytest.raises(TrainerError, match="signal SIGKILL"):
        job.send({"command": "continue"})


def test_a_trainer_that_dies_with_a_command_unread_says_how_it_ended(host, tmp_path):
    job = host.start(endless(tmp_path))
    job.send({"command": "continue"})
    psutil.Process(job.pid).kill()
    with pytest.raises(TrainerError, match="signal SIGKILL"):
        job.receive(within(30))


def test_a_trainer_that_hangs_up_before_it_ends_is_given_a_moment():
    env = scrubbed_environment() | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    server = ForkServer("trainer.sleepy_jobs", args=["serves"], env=env, error=TrainerError)
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            pid = server.spawn({"do": "hang up", "code": 3}, [theirs.fileno()])
        with pytest.raises(TrainerError, match=r"ended without a result \(exit code 3\)"):
            TrainerJob(server, pid, ours).receive(within(30))
    server.close()


def test_a_connection_that_was_closed_is_no_wait(host, tmp_path):
    job = host.start(endless(tmp_path))
    job._connection.close()
    with pytest.raises(TrainerError, match="the trainer was stopped"):
        job.receive(within(30))


def test_a_fault_that_is_not_the_candidates_is_told_in_its_own_words(host, tmp_path):
    job = train_job(tmp_path / "absent", 1024)
    with pytest.raises(TrainerError, match=r"FileNotFoundError: .*absent/1024"):
        host.run(job, timeout_s=60)


def test_a_job_that_breaks_before_it_can_speak_leaves_its_last_words(host):
    with pytest.raises(TrainerError, match=r"ended without a result \(exit code 70\): KeyError: "):
        host.run({"kind": "check", "seed": 0, "box": {"no": "layout"}}, timeout_s=60)


def test_a_trainer_that_takes_too_long_is_killed(host, tmp_path):
    job = host.start(endless(tmp_path))
    with pytest.raises(TrainerTimeoutError, match="did not finish within its wall-clock limit"):
        list(job.messages(0.2))
    assert not psutil.pid_exists(job.pid)


def test_cancelling_wakes_whoever_waits(host, tmp_path):
    errors = []

    def wait():
        try:
            host.run(endless(tmp_path), timeout_s=600)
        except TrainerError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(host._jobs) < 2:
        time.sleep(0.01)
    started = time.monotonic()
    host.cancel()
    for thread in threads:
        thread.join(10)
    assert errors == ["the trainer was stopped"] * 2
    assert time.monotonic() - started < 5
    assert host._jobs == []


def test_ending_a_job_twice_is_harmless(host, tmp_path):
    job = host.start(endless(tmp_path))
    host.end(job)
    host.end(job)
    job.close()
    assert not psutil.pid_exists(job.pid)


def test_a_host_that_is_closed_leaves_no_process(tmp_path):
    host = TrainerHost(TASK)
    job = host.start(endless(tmp_path))
    warm = host._server.warm.process.pid
    host.close()
    assert not psutil.pid_exists(job.pid)
    assert not psutil.pid_exists(warm)


def test_a_warm_process_that_was_killed_is_reported(tmp_path):
    host = TrainerHost(TASK)
    jobs = [host.start(endless(tmp_path)) for _ in range(2)]
    psutil.Process(host._server.warm.process.pid).kill()
    with pytest.raises(TrainerError, match="zygote does not answer"):
        jobs[0].receive(within(30))
    host.close()
    assert all(is_gone(job.pid) for job in jobs)


def test_a_task_whose_environment_cannot_be_made_is_told_at_the_start(toy_task, tmp_path):
    host = TrainerHost(toy_task({"env": {"id": "NoSuchThing-v0"}}))
    with pytest.raises(TaskError, match=r"^toy/walk: cannot make NoSuchThing-v0"):
        host.start(endless(tmp_path))
    host.close()
