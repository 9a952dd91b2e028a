"""Language models from the command line: what is checked before anything starts, what is told after it."""

import json

import pytest
from cli_process import TINY_RUN, rewardsmith
from cli_runs import searched_run
from test_cli_commands import invoke, refused

from chat_server import ChatServer
from loop.scripted import ScriptedModel
from rewardsmith.services.chat.base import ChatMessage, ChatReply, ChatRequest, TokenUsage
from rewardsmith.services.chat.caller import Attempt, CallOutcome
from rewardsmith.services.chat.record import outcome_row, request_row
from rewardsmith.services.journal.journal import Effect


@pytest.fixture(autouse=True)
def _in_an_empty_folder_without_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def spoken_run(root, name="spoken"):
    """Write a run with three model calls: answered, answered after a failed attempt, not answered."""
    folder = searched_run(root, name)
    system, user = ChatMessage(role="system", text="You write."), ChatMessage(role="user", text="Do it.")
    request = ChatRequest(messages=(system, user))
    usage = TokenUsage(prompt=1200, cached=1000, completion=300, reasoning=120)
    reply = ChatReply(text="def f(): \x1b[31mred", finish_reason="stop", usage=usage, model="m-1")
    failed = Attempt(fault="server", message="busy", status=503, latency_s=0.5)
    outcomes = {
        "i01/c00/propose": CallOutcome(
            reply=reply, usd=0.0125, attempts=(Attempt(fault=None, latency_s=2.0),)
        ),
        "i01/c01/propose": CallOutcome(reply=reply, attempts=(failed, Attempt(fault=None, latency_s=1.0))),
        "i01/critique": CallOutcome(reply=None, fault="server", message="busy", attempts=(failed,)),
    }
    with folder.writer() as journal:
        for key, outcome in outcomes.items():
            asker = "evaluator" if "critique" in key else "coder"
            asked = {"model": "openai/m", "asker": asker, **request_row(request, folder.objects)}
            row = outcome_row(outcome, folder.objects)
            journal.effect(Effect(key=key, request=asked, run=lambda row=row: row))
    return folder


@pytest.mark.parametrize(
    ("model", "variable"), [("openai/gpt-5", "OPENAI_API_KEY"), ("anthropic/claude-x", "ANTHROPIC_API_KEY")]
)
def test_a_missing_key_is_named_before_anything_starts(model, variable, tmp_path):
    assert f"{model} needs a key: set {variable}" in refused("run", "classic/pendulum", "--model", model)
    assert list(tmp_path.iterdir()) == []


def test_the_evaluators_key_is_asked_for_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    said = refused(
        "run", "classic/pendulum", "--model", "openai/gpt-5", "--evaluator-model", "anthropic/claude-x"
    )
    assert "ANTHROPIC_API_KEY" in said
    assert list(tmp_path.iterdir()) == []


def test_a_dollar_limit_needs_a_known_price(monkeypatch):
    said = refused(
        "run",
        "classic/pendulum",
        "--model",
        "openai/m",
        "--base-url",
        "http://localhost:1/v1",
        "--max-usd",
        "1",
    )
    assert "--max-usd: the price of openai/m is not known" in said


def test_builtin_takes_no_evaluator():
    said = refused("run", "classic/pendulum", "--evaluator-model", "openai/gpt-5")
    assert "builtin reads no critique" in said


def test_a_run_to_replay_must_exist():
    assert "no run 'nothing'" in refused("run", "classic/pendulum", "--model", "replay:nothing")


def test_a_setting_of_a_model_is_checked():
    said = refused("run", "classic/pendulum", "--model", "openai/x", "-s", "model.timeout=3")
    assert "--set model.timeout" in said


@pytest.mark.slow
def test_a_dry_run_shows_the_first_prompt_and_needs_no_key(tmp_path):
    done = rewardsmith(
        "run", "classic/pendulum", "--model", "openai/gpt-5", "--dry-run", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["plan"]["coder_calls"] == 3 * 8
    assert [m["role"] for m in document["messages"]] == ["system", "user"]
    assert "Swing the pendulum up" in document["messages"][1]["text"]
    assert list(tmp_path.iterdir()) == []
    shown = rewardsmith("run", "classic/pendulum", "--model", "openai/gpt-5", "--dry-run", cwd=tmp_path)
    assert document["messages"][1]["text"].strip().splitlines()[0] in shown.stdout


@pytest.mark.slow
def test_the_first_prompt_of_a_run_is_the_one_that_a_dry_run_showed(tmp_path):
    with ChatServer(ScriptedModel()) as server:
        model = ("--model", "openai/m", "--base-url", server.base_url)
        command = [*TINY_RUN, "-s", "propose.candidates=2", "-s", "gate.threshold=0", *model]
        dry = json.loads(rewardsmith(*command, "--dry-run", "--json", cwd=tmp_path).stdout)
        assert server.requests == []
        done = rewardsmith(*command, cwd=tmp_path)
        first = server.requests[0].body["messages"]
    assert done.returncode == 0, done.stderr
    assert [{"role": m["role"], "text": m["content"]} for m in first] == dry["messages"]
    assert "model openai/m, evaluator openai/m" in done.stdout
    assert "unknown cost" in done.stdout


@pytest.mark.slow
def test_a_refused_key_ends_with_one_line_and_code_2(tmp_path):
    with ChatServer(ScriptedModel(), lambda n: "401") as server:
        done = rewardsmith(*TINY_RUN, "--model", "openai/m", "--base-url", server.base_url, cwd=tmp_path)
    assert done.returncode == 2
    assert "error: openai/m: the server wants a key; --api-key-env names the variable" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai/m", "hosted_vllm/m"])
def test_an_outage_ends_with_one_line_and_code_3(name, tmp_path):
    settings = ("-s", "model.attempts=2", "-s", "model.backoff_s=0.0", "-s", "propose.candidates=2")
    with ChatServer(ScriptedModel(), lambda n: "500") as server:
        model = ("--model", name, "--base-url", server.base_url)
        done = rewardsmith(*TINY_RUN, *settings, *model, cwd=tmp_path)
    assert done.returncode == 3
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert f"{name} answered none of 2 calls" in line
    assert "; `rewardsmith resume runs/" in line
    assert "Traceback" not in done.stderr
    assert "Task was destroyed" not in done.stderr


def test_a_transcript_shows_what_was_said_once(tmp_path):
    spoken_run(tmp_path / "runs")
    text = invoke("runs", "transcript", "spoken").stdout
    assert text.count("You write.") == 1
    assert "===== i01/c00/propose  coder, openai/m" in text
    assert "(2 of 2 messages as above)" in text
    assert "attempt failed after 0.5 s: server 503: busy" in text
    assert (
        "ended: stop, prompt 1,200 tokens (1,000 cached), answer 300 tokens (120 reasoning), 0.0125 USD"
        in text
    )
    assert "no answer: server" in text
    assert "3 calls, 1 without an answer, 2,400 tokens of prompts (2,000 cached), 600 of answers" in text
    assert "0.0125 USD and 1 calls of unknown cost" in text
    assert "\x1b" not in text
    assert invoke("runs", "transcript", "spoken", "--full").stdout.count("You write.") == 3


def test_a_transcript_can_be_searched(tmp_path):
    spoken_run(tmp_path / "runs")
    assert invoke("runs", "transcript", "spoken", "--only", "c01").stdout.count("=====") == 1
    assert invoke("runs", "transcript", "spoken", "--search", "DEF F").stdout.count("=====") == 2
    assert "no model calls like that" in invoke("runs", "transcript", "spoken", "--search", "zebra").stdout


def test_a_transcript_is_one_json_document(tmp_path):
    spoken_run(tmp_path / "runs")
    calls = json.loads(invoke("runs", "transcript", "spoken", "--json").stdout)["calls"]
    assert [call["key"] for call in calls] == ["i01/c00/propose", "i01/c01/propose", "i01/critique"]
    assert calls[0]["reply"]["usage"] == {"prompt": 1200, "cached": 1000, "completion": 300, "reasoning": 120}
    assert calls[1]["usd"] is None
    assert calls[2]["reply"] is None


def test_a_run_of_builtin_has_no_transcript(tmp_path):
    searched_run(tmp_path / "runs", "silent")
    assert "silent: no model calls" in invoke("runs", "transcript", "silent").stdout


def test_a_broken_template_is_told_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    (tmp_path / "prompts" / "coder").mkdir(parents=True)
    (tmp_path / "prompts" / "coder" / "initial.j2").write_text("line\n{% if %}")
    said = refused("run", "classic/pendulum", "--model", "openai/gpt-5")
    assert "prompts/coder/initial.j2:2:" in said
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_sandbox_that_does_not_work_leaves_no_run_behind(tmp_path):
    hidden = {"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"}
    command = ("run", "classic/pendulum", "--sandbox", "docker", "--name", "d1")
    done = rewardsmith(*command, cwd=tmp_path, variables=hidden)
    assert done.returncode == 3
    assert "no Docker engine answers" in done.stderr
    assert not (tmp_path / "runs" / "d1").exists()


@pytest.mark.parametrize("command", [("bench", "methods", "--quick"), ("bench", "evaluator")])
def test_a_comparison_reads_the_key_from_the_variable_that_is_named(command):
    line = refused(*command, "--model", "openai/gpt-5", "--api-key-env", "MY_KEY")
    assert "MY_KEY" in line
