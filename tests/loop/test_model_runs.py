"""Whole runs in which a model on loopback writes the rewards and criticises them."""

import base64
import io
import json
import logging

import pytest

from chat_server import ChatServer, Reply
from loop.scripted import ScriptedModel
from loop.tiny import ListReporter, tiny_config
from rewardsmith.config import BudgetConfig, ModelConfig
from rewardsmith.errors import ModelError, ModelUnavailableError
from rewardsmith.loop.records import read_proposals, read_run
from rewardsmith.loop.run import execute
from rewardsmith.loop.transcript import read_calls
from rewardsmith.services.journal.folder import RunFolder

pytestmark = pytest.mark.slow

SDK, LITELLM = "openai/scripted", "hosted_vllm/scripted"
QUICK = ("propose.candidates=4", "final.seeds=0", "train.keep=2", "select.finalists=0", "train.rungs=[1.0]")


def model_of(server, name=SDK, **changes):
    settings = {"backoff_s": 0.0, "timeout_s": 5.0, "attempts": 3} | changes
    return ModelConfig(name=name, base_url=server.base_url, **settings)


def new_run(root, *settings, name="run", **changes):
    config = tiny_config(*QUICK, *settings, root=root, **changes)
    return RunFolder.create(root, name, config.model_dump(mode="json"))


def run(folder):
    reporter = ListReporter()
    result = execute(folder, reporter)
    return json.loads(json.dumps(result)), reporter.lines


def decisions(folder):
    events = map(json.loads, folder.journal_path.read_text().splitlines())
    return {e["key"]: e["payload"] for e in events if e["type"] == "decision"}


@pytest.mark.parametrize("name", [SDK, LITELLM])
def test_a_model_writes_and_criticises_through_either_client(name, tmp_path):
    with ChatServer(ScriptedModel()) as server:
        folder = new_run(tmp_path, model=model_of(server, name))
        result, lines = run(folder)
        last = [r.body["messages"] for r in server.requests if "A policy was trained" in str(r.body)][-1]
    assert result["winner"] is not None
    assert result["evaluator"] == name
    assert any("critique of i01c" in line for line in lines)
    assert last[2]["role"] == "assistant"
    assert "def compute_reward" in last[2]["content"]
    assert "The pendulum swings and does not stay up" in last[3]["content"]
    keys = {call.key for call in read_calls(read_run(folder.path))}
    assert keys == {
        *(f"i0{i}/c0{c}/propose" for i in (1, 2) for c in range(4)),
        "rubric",
        "i01/critique",
    }


def test_a_recording_gives_the_same_run_again_without_a_network(tmp_path):
    faults = ["raises", "500", "nan", "no_code", "garbage", "apology"]
    with ChatServer(ScriptedModel(), lambda n: faults[n] if n < len(faults) else None) as server:
        folder = new_run(tmp_path, model=model_of(server))
        result, _ = run(folder)
        n_asked = len(server.requests)
        again = new_run(tmp_path, name="again", model="replay:run")
        repeated, _ = run(again)
        assert len(server.requests) == n_asked
    assert {**repeated, "model": SDK, "evaluator": SDK} == result
    assert read_proposals(read_run(again.path)) == read_proposals(read_run(folder.path))
    first, second = decisions(folder), decisions(again)
    assert [k for k in first if k != "result"] == [k for k in second if k != "result"]
    assert all(first[k] == second[k] for k in first if k != "result")


def test_a_recording_that_is_too_short_says_where_it_ends(tmp_path):
    with ChatServer(ScriptedModel()) as server:
        run(new_run(tmp_path, "stop.iterations=1", model=model_of(server)))
    longer = new_run(tmp_path, "stop.iterations=2", name="longer", model="replay:run")
    reporter = ListReporter()
    with pytest.raises(ModelError, match=r"holds no answer to i02/c00/propose; it went as far as i01"):
        execute(longer, reporter)
    differing = "The recorded run had other settings (stop.iterations); its answers may not fit this one"
    assert differing in reporter.lines


def test_who_is_not_trained_is_told_why(tmp_path):
    with ChatServer(ScriptedModel()) as server:
        folder = new_run(tmp_path, "stop.iterations=1", "gate.threshold=1.0", model=model_of(server))
        result, lines = run(folder)
    assert result["winner"] is None
    assert "  not trained: 4 below 1, as gate.threshold has it" in lines


def test_a_failed_proposal_is_mended_with_the_trace(tmp_path):
    with ChatServer(ScriptedModel(), lambda n: "nan" if n == 0 else None) as server:
        folder = new_run(tmp_path, "stop.iterations=1", model=model_of(server))
        run(folder)
        (request,) = [r.body["messages"] for r in server.requests if len(r.body["messages"]) == 4]
    assert "np.nan" in request[2]["content"]
    assert "non_finite" in request[3]["content"]
    assert "240 of 240 rows" in request[3]["content"]
    proposals = read_proposals(read_run(folder.path))
    (mended,) = [p for p in proposals.values() if p.origin == "repaired"]
    assert mended.failure is None
    assert decisions(folder)["i01/prefer"]["failures"] == {}


def test_an_outage_stops_the_run_and_resume_goes_on(tmp_path):
    is_out, model = False, ScriptedModel()

    def answer(body):
        nonlocal is_out
        is_out = is_out or "under review" in str(body)
        return model(body)

    with ChatServer(answer, lambda n: "503" if is_out else None) as server:
        folder = new_run(tmp_path, model=model_of(server))
        with pytest.raises(ModelUnavailableError, match="answered none of 4 calls"):
            run(folder)
        assert "answered none of 4 calls" in read_run(folder.path).stopped
        n_before = sum(r.fault is None for r in server.requests)
        is_out = False
        result, _ = run(folder)
        n_honest = sum(r.fault is None for r in server.requests)
    assert read_run(folder.path).stopped is None
    assert result["winner"] is not None
    assert n_honest == n_before + 4, "only the four calls that were not answered are made again"
    again = [c.key for c in read_calls(read_run(folder.path)) if c.key.endswith("/again1")]
    assert again == [f"i02/c0{c}/propose/again1" for c in range(4)]
    repeated, _ = run(folder)
    assert repeated == result


def test_a_run_that_met_an_outage_can_be_replayed(tmp_path):
    is_out = True
    with ChatServer(ScriptedModel(), lambda n: "500" if is_out else None) as server:
        folder = new_run(tmp_path, "stop.iterations=1", model=model_of(server))
        with pytest.raises(ModelUnavailableError):
            run(folder)
        is_out = False
        result, _ = run(folder)
    again, _ = run(new_run(tmp_path, "stop.iterations=1", name="again", model="replay:run"))
    assert again["winner"] == result["winner"]


def test_a_token_budget_is_kept_and_ends_the_run_well(tmp_path):
    with ChatServer(ScriptedModel()) as server:
        model = model_of(server, max_tokens=500)
        config = {"model": model, "budget": BudgetConfig(max_tokens=12_000)}
        folder = new_run(tmp_path, "stop.iterations=30", "propose.candidates=3", **config)
        result, _ = run(folder)
    assert result["ended"].startswith("budget: max_tokens is 12000")
    assert 6_000 < result["totals"]["tokens"] <= 12_000
    assert result["winner"] is not None


def test_a_budget_too_small_for_all_samples_takes_those_that_fit(tmp_path):
    with ChatServer(ScriptedModel()) as server:
        model = model_of(server, max_tokens=2000)
        config = {"model": model, "budget": BudgetConfig(max_tokens=13_000)}
        folder = new_run(tmp_path, "stop.iterations=1", "propose.candidates=12", **config)
        result, lines = run(folder)
    assert 0 < result["totals"]["proposals"] < 12
    assert any("calls are not made: max_tokens" in line for line in lines)
    assert result["totals"]["tokens"] <= 13_000


def test_tokens_that_a_server_does_not_count_are_taken_as_reserved(tmp_path):
    with ChatServer(ScriptedModel(), lambda n: "no_usage") as server:
        folder = new_run(tmp_path, "stop.iterations=1", model=model_of(server, max_tokens=777))
        result, _ = run(folder)
    assert result["totals"]["tokens"] > 4 * 777
    assert result["totals"]["usd"] is None
    assert result["totals"]["calls_of_unknown_cost"] == 4


def test_no_key_is_found_in_anything_that_a_run_writes_says_or_sends(tmp_path, monkeypatch, caplog):
    canary = "sk-canary-7f3a9b2c4d5e"
    monkeypatch.setenv("OPENAI_API_KEY", canary)
    monkeypatch.setenv("ANTHROPIC_API_KEY", canary[3:] + "-other")
    caplog.set_level(logging.DEBUG)
    faults = ["echo_key", "echo_key_200", "echo_key_200"]
    with ChatServer(ScriptedModel(), lambda n: faults[n] if n < 3 else None) as server:
        model = model_of(server, api_key_env="OPENAI_API_KEY")
        folder = new_run(tmp_path, model=model)
        _, lines = run(folder)
        assert any(canary in r.headers.get("authorization", "") for r in server.requests), "the key was sent"
        bodies = [json.dumps(r.body) for r in server.requests]
    secret = canary[3:]
    assert not any(secret in body for body in bodies)
    assert not any(secret in line for line in lines)
    assert secret not in caplog.text
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 20
    assert not [path for path in written if secret.encode() in path.read_bytes()]


def test_an_evaluator_that_takes_images_sees_the_best_and_the_worst_rollout(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install 'rewardsmith[visual]'")
    pytest.importorskip("pygame", reason="the pendulum draws itself with pygame: rewardsmith[visual]")
    with ChatServer(ScriptedModel()) as server:
        folder = new_run(tmp_path, "feedback.visual=true", model=model_of(server))
        result, lines = run(folder)
        (request,) = [r.body for r in server.requests if "under review" in str(r.body)]
    assert not [line for line in lines if "no pictures" in line]
    text, picture = request["messages"][1]["content"]
    assert "The pictures show frames" in text["text"]
    head, data = picture["image_url"]["url"].split(",")
    assert head == "data:image/png;base64"
    with image.open(io.BytesIO(base64.b64decode(data))) as sheet:
        assert sheet.width > 1000
    events = [json.loads(line) for line in folder.journal_path.read_text().splitlines()]
    used = [e["answer"].get("env_steps", 0) for e in events if e["type"] == "answer"]
    assert sum(used) == result["totals"]["env_steps"]


def test_a_model_that_only_refuses_leaves_a_run_without_a_winner(tmp_path):
    with ChatServer(lambda body: Reply(content=None, refusal="I can't help with that.")) as server:
        folder = new_run(tmp_path, model=model_of(server))
        result, lines = run(folder)
    assert result["winner"] is None
    assert decisions(folder)["i01/prefer"]["failures"] == {"refused": 4}
    assert any("4 turned down" in line for line in lines)


def test_feedback_that_is_switched_off_is_not_in_the_prompt(tmp_path):
    with ChatServer(ScriptedModel()) as server:
        off = [f"feedback.{part}=false" for part in ("process", "trajectory", "preference", "critique")]
        folder = new_run(tmp_path, *off, model=model_of(server))
        result, _ = run(folder)
        assert result["evaluator"] is None
        last = server.requests[-1].body["messages"][-1]["content"]
    for part in ("Training (each", "Rollouts of", "How this reward orders", "A reviewer"):
        assert part not in last
