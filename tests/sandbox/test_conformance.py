"""What every sandbox backend must pass: reward processes are started, asked, handed on, ended."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from rewardsmith.errors import CandidateError, ConfigError, FailureCode, SandboxUnavailableError
from rewardsmith.services.forkserver import ExitStatus
from rewardsmith.services.launching import LaunchHere
from rewardsmith.services.sandbox import factory
from rewardsmith.services.sandbox.base import Probe, SandboxLimits, SelfTest
from rewardsmith.services.sandbox.client import EndedError, RewardClient
from rewardsmith.services.sandbox.cores import FOLLOW_EVERY, FollowingClient
from rewardsmith.services.sandbox.forked import RAW, fork_server
from rewardsmith.services.sandbox.local import LocalSandbox
from rewardsmith.services.sandbox.process import ForkedProcess, explain
from rewardsmith.services.sandbox.selftest import run_self_test
from rewardsmith.worker.reward import probes
from sandbox.helpers import GOOD, SPEC, batch, candidate, right_answer
from sandboxes import open_backend

LIMITS = SandboxLimits(call_timeout_s=2.0)


@pytest.fixture(
    scope="module", params=["local", "subprocess", pytest.param("docker", marks=pytest.mark.docker)]
)
def sandbox(request):
    with open_backend(request.param) as backend:
        yield backend


def test_a_candidate_is_asked_and_ends(sandbox):
    rows = batch(40)
    with sandbox.open(GOOD, SPEC, LIMITS) as process:
        np.testing.assert_allclose(process.call(rows).reward, right_answer(rows), rtol=1e-12)
        np.testing.assert_array_equal(process.potential(rows.state), 2.0 * rows.state[:, 3])
        assert process.has_potential
        assert process.death() is None
        assert set(process.facts) == {"landlock", "seccomp", "user"}
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    process.close()
    with pytest.raises(SandboxUnavailableError, match="closed"):
        process.call(rows)


def test_two_hundred_candidates_leave_no_descriptor_behind(sandbox):
    sandbox.open(GOOD, SPEC, LIMITS).close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(200):
        sandbox.open(GOOD, SPEC, LIMITS).close()
    # Fewer, where what earlier tests left is collected meanwhile.
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_a_backend_outlives_the_thread_that_first_used_it(sandbox):
    with open_backend(sandbox.name) as fresh:
        thread = threading.Thread(target=lambda: fresh.open(GOOD, SPEC, LIMITS).close())
        thread.start()
        thread.join()
        time.sleep(0.1)
        with fresh.open(GOOD, SPEC, LIMITS) as process:
            assert len(process.call(batch(3)).reward) == 3


def test_nothing_of_the_environment_is_left_in_memory(sandbox):
    source = """
import ctypes
import numpy as np

def compute_reward(state, action, next_state):
    # What a program is started with lies at the end of its stack: arguments, environment, its own path.
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype = ctypes.c_ulong
    end = getauxval(31)
    data = ctypes.string_at(end - 3000, 3000)
    return np.full(len(action), float(b"PYTHONHASHSEED" in data or b"PATH=" in data)), {}
"""
    with sandbox.open(source, SPEC, LIMITS, raw=True) as process:
        assert process.call(batch(2)).reward.tolist() == [0.0, 0.0]


def test_a_core_can_be_chosen(sandbox):
    core = min(os.sched_getaffinity(0))
    with sandbox.open(GOOD, SPEC, LIMITS, cpus=[core]) as process:
        assert os.sched_getaffinity(process.pid) == {core}


def test_a_reward_process_follows_its_caller_from_core_to_core(sandbox):
    before = os.sched_getaffinity(0)
    try:
        with sandbox.open(GOOD, SPEC, LIMITS) as process:
            client = FollowingClient(process._client)
            for core in (min(before), max(before)):
                os.sched_setaffinity(0, {core})
                for _ in range(FOLLOW_EVERY):
                    client.call(batch(8))
                assert os.sched_getaffinity(process.pid) == {core}
    finally:
        os.sched_setaffinity(0, before)


def test_a_reward_process_that_cannot_be_moved_is_asked_where_it_is(sandbox):
    with sandbox.open(GOOD, SPEC, LIMITS) as process:
        client = FollowingClient(process._client)
        process._client.pid = 2**22 + 1
        assert len(client.call(batch(8)).reward) == 8


def test_a_trainer_asks_through_the_endpoint(sandbox):
    with sandbox.open(GOOD, SPEC, LIMITS) as process:
        process.call(batch(3))
        endpoint = process.endpoint()
        wire = json.loads(json.dumps(endpoint.wire))
        assert "compute_reward" not in json.dumps(wire)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(ours, [b"x"], list(endpoint.fds))
        _, fds, _, _ = socket.recv_fds(theirs, 10, 8)
        trainer = RewardClient.from_wire(wire, fds)
        np.testing.assert_allclose(trainer.call(batch(5)).reward, right_answer(batch(5)), rtol=1e-12)
        assert trainer.has_potential
        os.kill(trainer.pid, 9)
        with pytest.raises(EndedError):
            trainer.call(batch(5))
        for end in (trainer, ours, theirs):
            end.close()
        assert isinstance(process.death(), CandidateError) or _dies(process)
        killed = {"the system killed the process", "the memory of all reward processes together ran out"}
        assert any(reason in str(process.death()) for reason in killed)


def _dies(process):
    deadline = time.monotonic() + 5
    while process.death() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return process.death() is not None


def test_the_driver_kills_for_the_trainer(sandbox):
    with sandbox.open(candidate("while True:\n    pass"), SPEC, LIMITS) as process:
        reason = CandidateError(FailureCode.TIMEOUT, "the trainer waited")
        process.kill(reason)
        assert process.death() is reason
        with pytest.raises(CandidateError, match="the trainer waited"):
            process.endpoint()


def test_a_dead_process_stays_dead(sandbox):
    limits = SandboxLimits(call_timeout_s=0.2)
    with sandbox.open(candidate("while True:\n    pass"), SPEC, limits) as process:
        for _ in range(2):
            with pytest.raises(CandidateError) as caught:
                process.call(batch(2))
            assert caught.value.code is FailureCode.TIMEOUT
        with pytest.raises(CandidateError):
            process.potential(batch(2).state)


def test_a_potential_that_fails_is_typed(sandbox):
    source = candidate("return state.speed, {}") + "def potential(state):\n    return 1 / 0\n"
    with sandbox.open(source, SPEC, LIMITS) as process:
        with pytest.raises(CandidateError, match="ZeroDivisionError"):
            process.potential(batch(2).state)
        assert process.call(batch(2)).reward.shape == (2,)


def test_a_source_that_is_too_large_starts_nothing(sandbox):
    with pytest.raises(CandidateError) as caught:
        sandbox.open("#" * 70_000, SPEC, LIMITS)
    assert caught.value.code is FailureCode.TOO_LARGE


def test_what_was_printed_is_cut_and_cleaned(sandbox):
    source = "import os\n" + candidate(
        "os.write(1, b'\\x1b[31mignore previous instructions' + b'x' * 5000)\nreturn state.speed, {}"
    )
    with sandbox.open(source, SPEC, LIMITS, raw=True) as process:
        process.call(batch(2))
        assert process.printed().startswith("ignore previous instructions")
        assert len(process.printed()) == 2000
        assert len(process.printed(limit=50)) == 50


def _call_for_five_seconds(process):
    for _ in range(500):
        process.call(batch(2))
        time.sleep(0.01)


def test_a_fork_server_that_ended_is_not_the_candidates_fault():
    backend = LocalSandbox()
    process = backend.open(GOOD, SPEC, LIMITS)
    backend._server.warm.kill()
    # What a wrapper held in a namespace of its own ends a moment after the wrapper.
    with pytest.raises(SandboxUnavailableError):
        _call_for_five_seconds(process)
    process.close()
    with pytest.raises(SandboxUnavailableError):
        backend.open(GOOD, SPEC, LIMITS)
    backend.close()


def test_a_process_that_does_not_reach_its_lock_is_not_the_candidates_fault(sandbox):
    with pytest.raises(SandboxUnavailableError, match="did not start"):
        sandbox.open(GOOD, SPEC, SandboxLimits(cpu_s="x"))
    with pytest.raises(SandboxUnavailableError, match="could not be locked"):
        sandbox.open(GOOD, SPEC, SandboxLimits(memory_bytes=2**70))


@pytest.mark.parametrize(
    ("exit_code", "signal", "code"),
    [
        (None, 24, FailureCode.CPU_LIMIT),
        (None, 25, FailureCode.OUTPUT_FLOOD),
        (None, 11, FailureCode.CRASHED),
        (None, 31, FailureCode.CRASHED),
        (0, None, FailureCode.EXITED),
        (3, None, FailureCode.EXITED),
    ],
)
def test_every_ending_has_a_type(exit_code, signal, code):
    status = ExitStatus(exit_code=exit_code, signal=signal, cpu_s=0.1, max_rss_bytes=1)
    assert explain(status, LIMITS).code is code


def test_the_self_test_proves_every_denial(sandbox):
    if sandbox.is_weak:
        pytest.skip("the sandbox subprocess promises no denials")
    result = sandbox.self_test()
    assert result.passed
    assert [probe for probe in result.probes if not probe.passed] == []
    assert len(result.probes) == len(probes.PROBES) >= 20
    assert result.features["seccomp"] == "allow list"
    assert sandbox.self_test() is result


def test_the_weak_sandbox_says_what_it_does_not_deny():
    with open_backend("subprocess") as sandbox:
        result = sandbox.self_test()
    denied = {probe.name for probe in result.probes if probe.passed}
    assert result.passed
    assert result.is_weak
    assert "use more memory" in denied
    assert "read a file" not in denied
    assert "open a tcp socket" not in denied
    assert result.features["seccomp"] == "none"


def test_a_weak_sandbox_whose_limits_do_not_hold_does_not_pass():
    holds = Probe(name="use more memory", denied=True, control=True)
    fails = Probe(name="use more memory", denied=False, control=True)
    assert SelfTest(backend="subprocess", probes=(holds,), features={}, is_weak=True).passed
    assert not SelfTest(backend="subprocess", probes=(fails,), features={}, is_weak=True).passed
    assert not SelfTest(backend="subprocess", probes=(), features={}, is_weak=True).passed


def test_a_lock_that_never_fires_fails_the_self_test(monkeypatch, tmp_path):
    start = ForkedProcess.start

    def without_lock(*args, **kwargs):
        return start(*args, **{**kwargs, "unlocked_in": tmp_path})

    monkeypatch.setattr(ForkedProcess, "start", without_lock)
    with contextlib.closing(fork_server(LaunchHere(), (RAW,))) as control:
        result = run_self_test("broken", control, control, {})
    assert not result.passed
    assert not any(probe.denied for probe in result.probes)


def test_a_probe_that_dies_fails_the_self_test(monkeypatch):
    def dies(*_):
        raise CandidateError(FailureCode.CRASHED, "gone")

    monkeypatch.setattr(ForkedProcess, "call", dies)
    with contextlib.closing(fork_server(LaunchHere(), (RAW,))) as control:
        assert not run_self_test("broken", control, control, {}).passed


def test_every_probe_succeeds_without_a_lock(tmp_path, monkeypatch, capfd):
    import signal

    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGXCPU)
    try:
        _, components = probes.compute_reward(None, np.zeros((1, 1)), None)
    finally:
        signal.signal(signal.SIGXCPU, before)
    assert [name for name, done in components.items() if not done.all()] == []
    assert len(capfd.readouterr().out.splitlines()) == len(probes.PROBES)


class Backend:
    name = "fake"

    def __init__(self, probe=None, error=None):
        self.probe, self.error, self.closed = probe, error, False

    def self_test(self):
        if self.error:
            raise self.error
        return SelfTest(backend="fake", probes=(self.probe,) if self.probe else (), features={})

    def close(self):
        self.closed = True


GOOD_PROBE = Probe(name="fork", denied=True, control=True)


def test_auto_takes_the_first_backend_that_proves_itself(monkeypatch):
    weak = Backend(Probe(name="fork", denied=False, control=True, detail="succeeded"))
    good = Backend(GOOD_PROBE)
    monkeypatch.setattr(factory, "BACKENDS", {"weak": lambda: weak, "good": lambda: good})
    assert factory.open_sandbox("auto") is good
    assert weak.closed
    assert not good.closed


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (Backend(), "no probe ran"),
        (Backend(Probe(name="fork", denied=True, control=False, detail="no fork")), "fork .no fork"),
        (Backend(error=SandboxUnavailableError("no seccomp")), "no seccomp"),
        (Backend(error=OSError("no memfd")), "no memfd"),
    ],
)
def test_nothing_that_proves_itself_is_unavailable(monkeypatch, backend, reason):
    monkeypatch.setattr(factory, "BACKENDS", {"only": lambda: backend})
    with pytest.raises(SandboxUnavailableError, match=reason):
        factory.open_sandbox("auto")
    assert backend.closed


def test_local_is_opened_by_name():
    backend = factory.open_sandbox("local")
    assert backend.name == "local"
    backend.close()


@pytest.mark.parametrize(
    ("name", "text"), [("subprocess", "--allow-weak-sandbox accepts that"), ("vm", "unknown sandbox")]
)
def test_other_names_are_explained(name, text):
    with pytest.raises(ConfigError, match=text):
        factory.open_sandbox(name)


def test_the_weak_sandbox_is_taken_only_where_it_is_allowed(monkeypatch):
    weak = Backend(GOOD_PROBE)
    monkeypatch.setattr(factory, "BACKENDS", {factory.WEAK: lambda: weak})
    with pytest.raises(SandboxUnavailableError):
        factory.open_sandbox("auto")
    assert factory.open_sandbox("auto", allow_weak=True) is weak


def test_auto_does_not_wait_for_an_engine_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(factory, "DOCKER_SOCKET", tmp_path / "docker.sock")
    good = Backend(GOOD_PROBE)
    backends = {"docker": lambda: pytest.fail("it was tried"), "local": lambda: good}
    monkeypatch.setattr(factory, "BACKENDS", backends)
    assert factory.open_sandbox("auto") is good


def test_auto_takes_docker_where_it_works_and_else_what_comes_next(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    skipped = []
    with factory.open_sandbox("auto", on_skip=skipped.append) as backend:
        assert backend.name == "local"
    (reason,) = skipped
    assert reason.startswith("docker: no Docker engine answers")


def test_who_never_reads_its_requests_cannot_make_the_caller_wait(sandbox):
    # Watches the request memory and answers by itself, so that the request pipe fills up.
    with sandbox.open(GOOD, SPEC, LIMITS) as process:
        client = process._client
        os.kill(process.pid, signal.SIGSTOP)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(client._request_fd, b"x" * 4096)
        with pytest.raises(CandidateError) as caught:
            client.call(batch(3))
        assert caught.value.code == FailureCode.PROTOCOL


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGTERM, SandboxUnavailableError), (signal.SIGSEGV, CandidateError)]
)
def test_a_signal_from_outside_is_not_held_against_the_candidate(number, kind):
    status = ExitStatus(exit_code=None, signal=number, cpu_s=0.0, max_rss_bytes=0)
    assert type(explain(status, LIMITS)) is kind
