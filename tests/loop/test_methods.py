"""Methods as configurations: every shipped one runs, and CARD's gate does what the paper says."""

from types import ModuleType

import numpy as np
import pytest

from chat_server import ChatServer
from loop.scripted import ScriptedModel
from loop.test_model_runs import decisions, model_of, run
from loop.tiny import SETTINGS
from rewardsmith.config import BudgetConfig
from rewardsmith.errors import ConfigError
from rewardsmith.loop.records import REWARD_FILE, read_proposals, read_run
from rewardsmith.loop.setup import load_method, resolve, shipped_methods
from rewardsmith.services.journal.events import read_events
from rewardsmith.services.journal.folder import RunFolder

MAX_LINES = 30
TASK_SETTINGS = tuple(s for s in SETTINGS if s.startswith("task."))
METHODS = tuple(shipped_methods())
SEARCHES = tuple(name for name in METHODS if name != "baselines")


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
@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "template"])
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
def test_without_iterations_the_baselines_alone_are_trained(tmp_path):
    folder = run_of(tmp_path, "baselines", "builtin", "final.seeds=2")
    result, _ = run(folder)
    assert result["ended"] == "count: 0 iterations"
    assert result["winner"] is None
    assert set(result["final"]["arms"]) == {"human", "sparse", "zero", "progress"}
    assert result["search"]["trainings"] == 0
    assert result["totals"]["trainings"] == 8
    assert result["search"]["env_steps"] < result["totals"]["env_steps"]


@pytest.mark.slow
def test_a_potential_shapes_the_sparse_reward_from_proposal_to_reward_file(tmp_path):
    folder = run_of(
        tmp_path,
        "rewardsmith",
        "builtin",
        *("train.shaping=potential", "propose.candidates=40", "store.episodes=12", "gate.threshold=0.0"),
        *("train.keep=2", "train.budget=1.0", "stop.iterations=1", "select.finalists=0", "final.seeds=1"),
        "final.baselines=false",
    )
    result, _ = run(folder)
    source = result["winner"]["source"]
    assert "def potential(state):" in source
    checkpoints = [c for t in read_run(folder.path).iterations[0].trained for c in t.checkpoints]
    assert checkpoints
    statistics = [
        window["components"]
        for event in read_events(folder.journal_path)
        if event.type == "answer" and "/train/" in event.key
        for checkpoint in event.data["checkpoints"]
        for window in checkpoint["statistics"]
    ]
    assert all(set(components) == {"success", "shaping"} for components in statistics)
    reward = ModuleType("reward")
    exec((folder.path / REWARD_FILE).read_text(), reward.__dict__)
    low, high = np.array([-1.0, 0.0, 0.5]), np.array([1.0, 0.0, 0.0])
    phi = [float(reward.potential(reward.NamedState(s[None]))[0]) for s in (low, high)]
    assert reward.GAMMA == 0.95
    assert reward.reward_of_step(low, [0.0], high, False)[0] == pytest.approx(0.95 * phi[1] - phi[0])
    assert reward.reward_of_step(low, [0.0], high, True)[0] == pytest.approx(-phi[0])


@pytest.mark.slow
def test_a_language_model_is_asked_for_a_potential_and_told_where_its_reward_is_not_one(tmp_path):
    def answer(body):
        told = str(body["messages"][-1]["content"])
        assert "def potential(state):" in body["messages"][0]["content"]
        if "no function potential" not in told:
            return f"```python\n{RIGHT}```"
        return f"```python\n{POTENTIAL}```"

    with ChatServer(answer) as server:
        folder = run_of(
            tmp_path,
            "zero-shot",
            model_of(server),
            *("train.shaping=potential", "store.episodes=6", "final.seeds=0", "train.budget=0.3"),
        )
        result, _ = run(folder)
    assert result["winner"]["source"].strip() == POTENTIAL.strip()
    assert result["winner"]["origin"] == "repaired"


def test_a_task_without_success_has_nothing_to_shape(tmp_path):
    settings = ("train.shaping=potential", "task.success=null", "task.baselines=[human]")
    with pytest.raises(ConfigError, match=r"train\.shaping: the task classic/pendulum has no success"):
        run_of(tmp_path, "rewardsmith", "builtin", *settings)


def test_a_task_without_an_expert_has_no_expert_episodes(tmp_path):
    settings = ("store.expert_episodes=3", "task.expert=null")
    with pytest.raises(
        ConfigError, match=r"store\.expert_episodes: the task classic/pendulum names no expert"
    ):
        run_of(tmp_path, "rewardsmith", "builtin", *settings)


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
POTENTIAL = """\
def potential(state):
    return state.heading[:, 0]

def compute_reward(state, action, next_state):
    up = potential(next_state) - potential(state)
    return up, {"up": up}
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
