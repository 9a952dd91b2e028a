"""Methods as configurations: every shipped one runs, and CARD's gate does what the paper says."""

import pytest

from chat_server import ChatServer
from loop.scripted import ScriptedModel
from loop.test_model_runs import decisions, model_of, run
from loop.tiny import SETTINGS
from rewardsmith.config import BudgetConfig
from rewardsmith.loop.records import read_proposals, read_run
from rewardsmith.loop.setup import load_method, resolve, shipped_methods
from rewardsmith.services.journal.folder import RunFolder

MAX_LINES = 30
TASK_SETTINGS = tuple(s for s in SETTINGS if s.startswith("task."))
METHODS = tuple(shipped_methods())


def run_of(root, method, model, *settings, name="run"):
    config = resolve(
        task="classic/pendulum",
        method=method,
        settings=[*TASK_SETTINGS, *settings],
        model=model,
        seed=0,
        workers=2,
        sandbox="local",
        budget=BudgetConfig(),
        root=root,
    )
    return RunFolder.create(root, name, config.model_dump(mode="json"))


def test_the_shipped_methods_are_there():
    assert {"rewardsmith", "eureka", "card", "text2reward", "template", "zero-shot", "revolve"} <= set(
        METHODS
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_a_short_file_that_names_its_source(name):
    text = shipped_methods()[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert text.startswith("#")
    assert load_method(name).description.endswith(".")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name != "template"])
def test_every_method_runs_with_a_language_model(name, tmp_path):
    small = ["store.episodes=6", "final.seeds=0", "train.budget=0.3"]
    iterations = min(2, load_method(name).stop.iterations)
    candidates = min(3, load_method(name).propose.candidates or 3)
    with ChatServer(ScriptedModel()) as server:
        folder = run_of(
            tmp_path,
            name,
            model_of(server),
            *small,
            f"stop.iterations={iterations}",
            f"propose.candidates={candidates}",
            "gate.threshold=0.0",
        )
        result, _ = run(folder)
    assert result["method"] == name
    assert result["winner"] is not None


@pytest.mark.slow
def test_islands_breed_apart_and_join_two_of_their_own(tmp_path):
    with ChatServer(ScriptedModel()) as server:
        folder = run_of(
            tmp_path,
            "revolve",
            model_of(server),
            *("store.episodes=6", "final.seeds=0", "train.budget=0.2", "train.checkpoints_per_rung=1"),
            *("stop.iterations=2", "propose.candidates=6", "propose.islands=2", "propose.crossover=1.0"),
        )
        run(folder)
    later = {k: p for k, p in read_proposals(read_run(folder.path)).items() if k.startswith("i02")}
    assert {p.origin for p in later.values()} == {"crossover"}
    for name, proposal in later.items():
        island = int(name[-2:]) % 2
        assert len(proposal.parents) == 2
        assert {int(parent[-2:]) % 2 for parent in proposal.parents} == {island}


WRONG = """\
def compute_reward(state, action, next_state):
    down = -next_state.heading[:, 0]
    return down, {"down": down}
"""
RIGHT = """\
def compute_reward(state, action, next_state):
    up = next_state.heading[:, 0]
    return up, {"up": up}
"""


@pytest.mark.slow
def test_a_gate_that_rejects_saves_the_training_and_its_feedback_mends_the_reward(tmp_path):
    def answer(body):
        told = str(body["messages"][-1]["content"])
        return f"```python\n{RIGHT if 'How this reward orders' in told else WRONG}```"

    with ChatServer(answer) as server:
        folder = run_of(
            tmp_path,
            "card",
            model_of(server),
            *("store.episodes=24", "final.seeds=0", "train.budget=0.3", "train.checkpoints_per_rung=1"),
            *("stop.iterations=2", "gate.rule=pairwise", "gate.threshold=0.6"),
        )
        result, lines = run(folder)
        last = server.requests[-1].body["messages"][-1]["content"]
    assert decisions(folder)["i01/prefer"]["chosen"] == []
    assert "  not trained: 1 below 0.6, as gate.threshold has it" in lines
    assert "No policy was trained under this reward" in last
    assert "What is asked before a training: the better of two must get the higher return" in last
    assert [row["id"] for row in decisions(folder)["i02/prefer"]["chosen"]] == ["i02c00"]
    assert result["totals"]["trainings"] == 1
    assert result["winner"]["id"] == "i02c00"
