"""The warm process and its children: how they start, how they end, what they never see."""

import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import psutil
import pytest

from processes import is_gone
from rewardsmith.errors import SandboxUnavailableError, TrainerError
from rewardsmith.services.forkserver import ExitStatus, ForkServer, scrubbed_environment
from rewardsmith.worker import forkserver as warm

TESTS = str(Path(__file__).resolve().parents[1])


def fork_server(mode="serves", **changes):
    env = scrubbed_environment() | {"PYTHONPATH": TESTS}
    return ForkServer("trainer.sleepy_jobs", args=[mode], env=env, error=TrainerError, **changes)


@pytest.fixture(scope="module")
def server():
    server = fork_server()
    yield server
    server.close()


def finished(server, pid):
    status = server.wait(pid, 5.0)
    assert status is not None
    return status


def sleeping_job(server):
    """A job that sleeps, and the process that it started itself."""
    read, write = os.pipe()
    pid = server.spawn({"do": "sleep"}, [write])
    os.close(write)
    grandchild = int(os.read(read, 100))
    os.close(read)
    return pid, grandchild


def test_a_job_runs_in_a_group_of_its_own_with_its_descriptors(server):
    read, write = os.pipe()
    pid = server.spawn({"do": "report", "text": "hello ä"}, [write])
    os.close(write)
    assert finished(server, pid).exit_code == 0
    text = os.read(read, 10_000).decode()
    os.close(read)
    assert text.startswith(f"hello ä True {server.warm.process.pid} ")


def test_a_large_job_arrives_whole(server):
    read, write = os.pipe()
    pid = server.spawn({"do": "report", "text": "x" * 50, "padding": "y" * 1_000_000}, [write])
    os.close(write)
    assert finished(server, pid).exit_code == 0
    os.close(read)


@pytest.mark.parametrize(
    ("job", "exit_code", "signal_number", "words"),
    [
        ({"do": "exit", "code": 3}, 3, None, "exit code 3"),
        ({"do": "raise"}, 70, None, "exit code 70"),
        ({"do": "die", "signal": signal.SIGSEGV}, None, signal.SIGSEGV, "signal SIGSEGV"),
    ],
)
def test_how_a_job_ended_is_known(server, job, exit_code, signal_number, words):
    status = finished(server, server.spawn(job))
    assert (status.exit_code, status.signal, str(status)) == (exit_code, signal_number, words)


def test_a_signal_without_a_name_is_told_by_its_number():
    assert str(ExitStatus(exit_code=None, signal=99, cpu_s=0.0, max_rss_bytes=0)) == "signal 99"


def test_what_a_job_wrote_to_stderr_is_kept(server):
    finished(server, server.spawn({"do": "raise"}))
    assert server.stderr_tail().endswith("RuntimeError: the job is broken")
    assert len(server.stderr_tail(n_bytes=10)) <= 10


def test_what_a_job_used_is_known(server):
    status = finished(server, server.spawn({"do": "burn", "cpu_s": 0.1}))
    assert 0.1 <= status.cpu_s < 2.0
    assert status.max_rss_bytes > 64 * 1024 * 1024


def test_a_job_that_runs_is_told_apart_from_one_that_ended(server):
    pid, grandchild = sleeping_job(server)
    assert server.wait(pid, 0.01) is None
    status = server.kill(pid)
    assert str(status) == "signal SIGKILL"
    assert is_gone(pid)
    assert is_gone(grandchild), "a job is killed with all that it started"


def test_a_finished_job_keeps_its_number_until_asked(server):
    pid = server.spawn({"do": "exit", "code": 0})
    time.sleep(0.1)
    assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert server.kill(pid).exit_code == 0
    assert not psutil.pid_exists(pid)


def test_a_process_that_is_no_job_is_never_killed(server):
    with pytest.raises(TrainerError, match=f"trainer.sleepy_jobs no child {os.getpid()}"):
        server.kill(os.getpid())
    pid = server.spawn({"do": "exit", "code": 0})
    server.kill(pid)
    with pytest.raises(TrainerError, match="no child"):
        server.wait(pid, 0.1)


def test_threads_may_share_a_server(server):
    results = {}

    def work(i):
        results[i] = finished(server, server.spawn({"do": "exit", "code": i})).exit_code

    threads = [threading.Thread(target=work, args=[i]) for i in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: i for i in range(1, 9)}


def test_closing_kills_every_job():
    server = fork_server()
    server.start()
    warm_pid = server.warm.process.pid
    pid, grandchild = sleeping_job(server)
    server.close()
    assert is_gone(warm_pid)
    assert is_gone(pid)
    assert is_gone(grandchild)
    server.close()


def test_a_warm_process_that_is_killed_takes_its_jobs_along():
    server = fork_server()
    pid, _ = sleeping_job(server)
    os.kill(server.warm.process.pid, signal.SIGKILL)
    assert is_gone(pid)
    with pytest.raises(TrainerError, match=r"trainer\.sleepy_jobs does not answer"):
        server.spawn({"do": "exit", "code": 0})
    server.close()


def test_closing_does_not_wait_for_a_warm_process_that_hangs(monkeypatch):
    server = fork_server()
    server.start()
    warm_pid = server.warm.process.pid
    os.kill(warm_pid, signal.SIGSTOP)
    wait = server.warm.process.wait
    monkeypatch.setattr(server.warm.process, "wait", lambda timeout=None: wait(0.05 if timeout else None))
    server.close()
    assert is_gone(warm_pid)


def test_a_warm_process_that_cannot_start_says_why():
    server = fork_server("fails")
    with pytest.raises(TrainerError) as caught:
        server.start()
    assert str(caught.value) == ("trainer.sleepy_jobs did not start (it ended): the libraries are missing")
    server.close()


def test_a_warm_process_that_does_not_answer_in_time_is_killed():
    server = fork_server("hangs", start_timeout_s=0.5)
    with pytest.raises(TrainerError, match=r"did not start \(timed out\)"):
        server.start()
    assert is_gone(server.warm.process.pid)
    server.close()


def test_the_caller_chooses_the_type_of_error():
    server = ForkServer("no_such_module", env=scrubbed_environment(), error=SandboxUnavailableError)
    with pytest.raises(SandboxUnavailableError, match="No module named no_such_module"):
        server.start()
    server.close()


def test_a_warm_process_sees_no_secret_and_no_home(monkeypatch):
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HOME", "PYTHONPATH", "LD_PRELOAD", "MUJOCO_GL"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    found = scrubbed_environment()
    assert "secret" not in found.values()
    assert (found["LANG"], found["OMP_NUM_THREADS"], found["PYTHONHASHSEED"]) == ("C.UTF-8", "1", "0")
    assert scrubbed_environment(["MUJOCO_GL"])["MUJOCO_GL"] == "secret"


def test_a_job_sees_only_the_scrubbed_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server = fork_server()
    read, write = os.pipe()
    finished(server, server.spawn({"do": "report", "text": ""}, [write]))
    os.close(write)
    text = os.read(read, 10_000).decode()
    os.close(read)
    server.close()
    assert "PYTHONHASHSEED" in text
    assert "OPENAI_API_KEY" not in text


# --- the warm side, in this process -------------------------------------------------------------------------


class Driver(threading.Thread):
    """The other end of `serve`: asks each question in turn and keeps the answers."""

    def __init__(self, *questions):
        super().__init__()
        self.control, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.questions, self.answers = questions, []

    def run(self):
        self.answers.append(json.loads(self.control.recv(10_000)))
        for question in self.questions:
            pid = next((a["pid"] for a in reversed(self.answers) if "pid" in a), None)
            message, job = question(pid)
            fds = []
            if job is not None:
                fds = [os.memfd_create("job")]
                os.write(fds[0], json.dumps(job).encode())
            socket.send_fds(self.control, [json.dumps(message).encode()], fds)
            for fd in fds:
                os.close(fd)
            self.answers.append(json.loads(self.control.recv(10_000)))
        # A child of this very process holds a copy of this end, so closing alone would end nothing.
        self.control.shutdown(socket.SHUT_RDWR)
        self.control.close()


def answers_to(*questions):
    driver = Driver(*questions)
    driver.start()
    with driver.theirs:
        warm.serve(driver.theirs, lambda job, fds: time.sleep(job["sleep_s"]), {"version": 1})
    driver.join()
    return driver.answers


def spawn(sleep_s):
    return lambda pid: ({"op": "spawn"}, {"sleep_s": sleep_s})


def test_a_warm_process_says_hello_then_answers_in_turn():
    hello, spawned, running, killed, again = answers_to(
        spawn(60),
        lambda pid: ({"op": "wait", "pid": pid, "timeout_s": 0.01}, None),
        lambda pid: ({"op": "kill", "pid": pid}, None),
        lambda pid: ({"op": "kill", "pid": pid}, None),
    )
    assert hello == {"ready": True, "version": 1}
    assert running == {"running": True}
    assert (killed["exit_code"], killed["signal"]) == (None, signal.SIGKILL)
    assert again == {"error": f"no child {spawned['pid']}"}


def test_a_warm_process_reaps_what_has_ended():
    *_, spawned, ended = answers_to(
        spawn(0), lambda pid: ({"op": "wait", "pid": pid, "timeout_s": 5.0}, None)
    )
    assert (ended["exit_code"], ended["signal"]) == (0, None)
    assert not psutil.pid_exists(spawned["pid"])


def test_a_warm_process_leaves_no_child_when_the_driver_is_gone():
    _, spawned = answers_to(spawn(60))
    assert not psutil.pid_exists(spawned["pid"])


def test_an_interrupt_during_the_start_ends_the_warm_process_at_once(monkeypatch):
    server = fork_server()

    def interrupt(control):
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "_receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        server.start()
    pid = server.warm.process.pid
    started = time.monotonic()
    server.close()
    assert time.monotonic() - started < 5.0
    assert is_gone(pid)


def test_an_answer_that_was_not_waited_for_is_not_taken_for_the_next(monkeypatch):
    server = fork_server()
    pid, _ = sleeping_job(server)
    receive = server._receive

    def interrupt(control):
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "_receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        server.wait(pid, 0.1)
    monkeypatch.setattr(server, "_receive", receive)
    with pytest.raises(TrainerError, match="does not answer any more"):
        server.kill(pid)
    server.close()
    assert is_gone(pid)


def test_a_closed_server_says_so_and_can_be_closed_again():
    server = fork_server()
    server.start()
    server.close()
    server.close()
    with pytest.raises(TrainerError, match="was closed"):
        server.spawn({"do": "sleep"})
