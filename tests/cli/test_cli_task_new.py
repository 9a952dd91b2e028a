"""From an environment of one's own to a finished run; and what a wrong input gets."""

import json

import pytest
import yaml
from cli_process import rewardsmith
from test_cli_commands import invoke, refused

from chat_server import ChatServer

CART = """
import gymnasium as gym
import numpy as np


class Cart(gym.Env):
    '''A cart on a rail that is to stand at the mark.

    ## Observation space

    | Num | Observation   | Unit           |
    | --- | ------------- | -------------- |
    | 0   | cart position | position (m)   |
    | 1   | cart velocity | velocity (m/s) |
    '''

    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    observation_space = gym.spaces.Box(-9.0, 9.0, (2,), np.float32)

    def __init__(self, mark=0.0, render_mode=None):
        self.mark = mark

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v, self.n = self.np_random.uniform(-1.0, 1.0), 0.0, 0
        return self._obs(), {}

    def _obs(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, action):
        self.v = float(np.clip(0.9 * self.v + 0.1 * action[0], -1.0, 1.0))
        self.x = float(np.clip(self.x + self.v, -8.0, 8.0))
        self.n += 1
        near = abs(self.x - self.mark) < 0.3
        return self._obs(), -abs(self.x - self.mark), False, self.n >= 20, {"is_success": near}
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def read(tmp_path, name):
    return yaml.safe_load((tmp_path / "tasks" / name / "task.yaml").read_text())


NEW = ("task", "new", "cart", "--env", "cart.py:Cart", "--goal", "Stand at the mark.")


@pytest.mark.slow
def test_three_commands_lead_from_a_file_with_an_environment_to_a_finished_run(tmp_path):
    (tmp_path / "cart.py").write_text(CART)
    new = rewardsmith(*NEW, cwd=tmp_path)
    assert new.returncode == 0, new.stderr
    assert "own/cart: keeps its contract" in new.stdout
    shown = rewardsmith("task", "show", "own/cart", cwd=tmp_path)
    assert "cart_position" in shown.stdout
    tiny = (
        "task.training.total_timesteps=512",
        "task.training.n_envs=2",
        "task.training.hyperparameters.n_steps=32",
        "task.training.hyperparameters.batch_size=32",
        "task.judge.episodes=2",
        "task.judge.final_episodes=2",
        "propose.candidates=20",
        "stop.iterations=1",
        "final.seeds=1",
        "train.keep=2",
    )
    settings = (part for key in tiny for part in ("-s", key))
    run = rewardsmith("run", "own/cart", "--sandbox", "local", *settings, "--json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert set(result["final"]["arms"]) == {"winner", "human", "sparse", "zero"}
    assert result["winner"]["source"]


@pytest.mark.slow
def test_a_draft_holds_what_the_environment_shows(tmp_path):
    (tmp_path / "cart.py").write_text(CART)
    result = invoke(*NEW, "--suite", "rails", "--env-kwarg", "mark=2.5", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["task"], document["passed"]) == ("rails/cart", True)
    data = read(tmp_path, "rails/cart")
    assert data["env"] == {
        "factory": "../../../cart.py:Cart",
        "kwargs": {"mark": 2.5},
        "max_episode_steps": 20,
    }
    assert [field["name"] for field in data["state"]] == ["cart_position", "cart_velocity"]
    assert (data["success"]["source"], data["fitness"]) == ("info.is_success", "success")
    again = refused(*NEW, "--suite", "rails")
    assert "tasks/rails/cart/task.yaml exists; --force overwrites it" in again


@pytest.mark.slow
def test_a_model_words_the_fields_better(tmp_path):
    (tmp_path / "cart.py").write_text(CART)
    fields = [
        {
            "source": "obs[0]",
            "name": "place",
            "kind": "position",
            "unit": "m",
            "doc": "Metres from the\nmark.",
        },
        {"source": "obs[1]", "name": "for", "kind": "velocity", "unit": "m/s", "doc": ""},
        {"source": "obs[7]", "name": "unknown", "kind": "scalar", "unit": "", "doc": "It is not there."},
    ]
    with ChatServer(lambda body: json.dumps({"fields": fields})) as server:
        result = invoke(*NEW, "--model", "openai/small", "--base-url", server.base_url)
    assert result.exit_code == 0, result.output
    first, second = read(tmp_path, "own/cart")["state"]
    assert (first["name"], first["doc"]) == ("place", "Metres from the mark.")
    assert (second["name"], second["doc"]) == ("cart_velocity", "Cart velocity.")


@pytest.mark.slow
def test_an_answer_that_names_nothing_leaves_no_task_behind(tmp_path):
    (tmp_path / "cart.py").write_text(CART)
    with ChatServer(lambda body: "I would rather not.") as server:
        result = invoke(*NEW, "--model", "openai/small", "--base-url", server.base_url)
    assert result.exit_code == 3, result.output
    assert "no names for the fields came of the model" in result.stderr
    assert not (tmp_path / "tasks").exists()


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("a b", "--env", "Pendulum-v1", "--goal", "Swing."), "'a b' is no name of a task"),
        (("a/b/c", "--env", "Pendulum-v1", "--goal", "Swing."), "'a/b/c' is no name of a task"),
        (("..", "--env", "Pendulum-v1", "--goal", "Swing."), "'..' is no name of a task"),
        (("x", "--suite", "../y", "--env", "A-v0", "--goal", "Go on."), "--suite ../y: use letters"),
        (("y/x", "--suite", "y", "--env", "A-v0", "--goal", "Go on."), "y/x names its suite already"),
        (("x", "--env", "Pendulum-v1", "--goal", " "), "--goal: say in a sentence"),
        (("x", "--env", "gone.py:Env", "--goal", "Go on."), "there is no file gone.py"),
        (("x", "--env", "A-v0", "--goal", "Go on.", "--env-kwarg", "a"), "--env-kwarg a: expected KEY=VALUE"),
        (("x", "--env", "A-v0", "--goal", "Go on.", "--model", "builtin"), "name a language model"),
        (("x", "--env", "A-v0", "--goal", "Go on.", "--model", "openai/m"), "OPENAI_API_KEY"),
    ],
)
def test_a_wrong_input_gets_one_line_and_leaves_nothing_behind(tmp_path, args, reason):
    assert reason in refused("task", "new", *args)
    assert not (tmp_path / "tasks").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('boom')", "cannot be imported (RuntimeError: boom)"),
        ("import os\nos._exit(7)", "the environment ended its process with code 7"),
        (
            CART.replace("return self._obs(), -abs", "return None, -abs"),
            "the environment fails while it is played",
        ),
        (
            CART.replace("gym.spaces.Box(-9.0, 9.0, (2,), np.float32)", "gym.spaces.Text(4)"),
            "are not supported",
        ),
    ],
)
def test_an_environment_that_cannot_be_used_gets_one_line_and_leaves_nothing_behind(tmp_path, code, reason):
    (tmp_path / "cart.py").write_text(code)
    result = invoke(*NEW)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "tasks").exists()
