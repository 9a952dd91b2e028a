"""The trainer's warm process, run in this one against a driver that hangs up at once."""

import json
import socket

from rewardsmith.worker.trainer import zygote


def start(text):
    """The exit code of the warm process, and what it said."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.shutdown(socket.SHUT_WR)
    with ours:
        code = zygote.main([text, str(theirs.detach())])
        ours.setblocking(False)
        try:
            said = ours.recv(1000)
        except BlockingIOError:
            said = b""
    return code, said


def test_it_says_that_it_is_ready_and_ends_with_its_driver(toy_task):
    code, said = start(toy_task().model_dump_json())
    assert (code, json.loads(said)) == (0, {"ready": True})


def test_it_makes_its_environments_ahead_of_its_jobs(toy_task, monkeypatch):
    prepared = []
    monkeypatch.setattr(zygote.EnvMaker, "prepare", lambda self, n_envs: prepared.append(n_envs))
    start(toy_task().model_dump_json())
    assert prepared == [4], "as many for the judge as for the learner"


def test_a_task_that_cannot_be_used_is_refused_in_one_line(toy_task):
    task = toy_task({"env": {"factory": "env.py:absent"}})
    code, said = start(task.model_dump_json())
    assert code == 2
    assert json.loads(said)["refusal"].endswith("env.py: it defines no 'absent' that can be called")
