"""From facts about an environment to the text of a task."""

from pathlib import Path

import pytest
import yaml

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.drafting import looking
from rewardsmith.services.tasks.drafting.draft import MAX_TIMESTEPS, MIN_TIMESTEPS, draft_task
from rewardsmith.services.tasks.drafting.looking import look_at
from rewardsmith.services.tasks.drafting.writing import task_yaml
from rewardsmith.services.tasks.schema import EnvConfig, TaskFile
from rewardsmith.worker.trainer.introspection import introspect

HERE = Path(__file__).parent


def drafted(env, goal="Do it well."):
    facts = introspect(EnvConfig.model_validate(env), HERE, "toy/made")
    return draft_task(facts, env=env, goal=goal)


def read(draft):
    text = task_yaml(draft, "toy/made")
    return TaskFile.model_validate(yaml.safe_load(text)), text


def test_a_documented_environment_gets_names_kinds_and_bounds():
    file, text = read(drafted({"id": "CartPole-v1"}))
    assert [field.name for field in file.state] == [
        "cart_position",
        "cart_velocity",
        "pole_angle",
        "pole_angular_velocity",
    ]
    assert [field.kind for field in file.state] == ["position", "velocity", "angle", "velocity"]
    assert (file.state[0].low, file.state[0].high, file.state[1].low) == (-4.8, 4.8, None)
    assert "seen under random actions" in text


def test_the_environments_own_return_is_marked_as_such():
    file, text = read(drafted({"id": "CartPole-v1"}))
    assert (file.fitness, file.baselines) == ("return", ("human", "zero"))
    assert "THE FITNESS IS THE ENVIRONMENT'S OWN REWARD" in text


def test_no_word_of_a_documented_reward_gets_into_a_draft():
    pytest.importorskip("Box2D")
    _, text = read(drafted({"id": "LunarLander-v3"}))
    assert "8-dimensional vector" in text, "what is said of the observation is there"
    assert "+100" not in text
    assert "points" not in text


def test_an_undocumented_environment_keeps_plain_names_and_asks(tmp_path):
    (tmp_path / "env.py").write_text(BARE)
    env = {"factory": "env.py:Bare"}
    facts = introspect(EnvConfig(**env), tmp_path, "toy/bare")
    file, text = read(draft_task(facts, env=env, goal="Count."))
    assert [field.source for field in file.state] == ["obs[0]", "obs[1]", "obs[2]", "info.place"]
    assert [field.kind for field in file.state] == ["scalar", "scalar", "flag", "scalar"]
    assert "What is it?" in text
    assert file.success is not None
    assert (file.success.source, file.fitness) == ("info.is_success", "success")
    assert file.env.max_episode_steps == 200, "it has no limit of its own"
    assert "has no time limit of its own" in text


BARE = """
import gymnasium as gym
import numpy as np


class Bare(gym.Env):
    action_space = gym.spaces.MultiBinary(2)
    observation_space = gym.spaces.Box(
        np.array([-9.0, -9.0, 0.0]), np.array([9.0, 9.0, 1.0]), dtype=np.float64
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.n = 0
        return self._obs(), self._info()

    def _obs(self):
        return np.array([self.n / 10, self.np_random.random(), float(self.n % 2)])

    def _info(self):
        return {"place": self.n, "reward_parts": 3.0, "is_success": self.n > 15, "text": "x", "constant": 1.0}

    def step(self, action):
        assert self.action_space.contains(action)
        self.n += 1
        return self._obs(), 1.0, self.n >= 20, False, self._info()
"""


def test_of_a_matrix_only_the_whole_gets_a_name(tmp_path):
    code = BARE.replace("return np.array([self.n", "return np.ones((3, 1)) * np.array([self.n")
    code = code.replace("dtype=np.float64\n    )", "dtype=np.float64\n    )\n    observation_space = MATRIX")
    code = code.replace(
        "class Bare", "MATRIX = gym.spaces.Box(-99.0, 99.0, (3, 3), np.float64)\n\n\nclass Bare"
    )
    (tmp_path / "env.py").write_text(code)
    env = {"factory": "env.py:Bare"}
    draft = draft_task(introspect(EnvConfig(**env), tmp_path, "toy/bare"), env=env, goal="Count.")
    file, _ = read(draft)
    first = file.state[0]
    assert (first.name, first.source, first.shape) == ("observation", "obs", (9,))


def facts_of(tmp_path, code, name="Bare"):
    (tmp_path / "env.py").write_text(code)
    return introspect(EnvConfig(factory=f"env.py:{name}"), tmp_path, "toy/bare")


def test_keys_of_infos_that_are_no_words_are_passed_over(tmp_path):
    code = BARE.replace('"constant": 1.0', '7: self.n, ("a", 1): self.n, "2nd": self.n, "\u03b1": self.n')
    facts = facts_of(tmp_path, code)
    sources = [field.source for field in draft_task(facts, env={"factory": "env.py:Bare"}, goal="Go.").fields]
    assert [source for source in sources if source.startswith("info.")] == ["info.place", "info.2nd"]


@pytest.mark.parametrize("key", ["a.b", "x[0]", "\u0394", ""])
def test_a_key_that_no_source_can_name_is_refused_by_name(tmp_path, key):
    wrapped = (
        BARE
        + f"""

class Keyed(gym.ObservationWrapper):
    observation_space = gym.spaces.Dict({{{key!r}: gym.spaces.Box(-9.0, 9.0, (3,), np.float64)}})

    def observation(self, obs):
        return {{{key!r}: obs}}


def make():
    return Keyed(Bare())
"""
    )
    facts = facts_of(tmp_path, wrapped, "make")
    with pytest.raises(TaskError, match=r"which no source of task\.yaml can name") as caught:
        draft_task(facts, env={"factory": "env.py:make"}, goal="Go.")
    assert repr(key) in str(caught.value)


def test_a_limit_that_is_kept_and_not_declared_is_found(tmp_path):
    code = BARE.replace("self.n >= 20, False, self._info()", "False, self.n >= 20, self._info()")
    draft = draft_task(facts_of(tmp_path, code), env={"factory": "env.py:Bare"}, goal="Go.")
    assert (draft.max_episode_steps, draft.has_own_limit) == (20, True)


@pytest.mark.parametrize("what", ["Five", "five", "nothing", "leaves"])
def test_what_is_no_environment_is_said_to_be_none(tmp_path, what):
    code = (
        "import sys\nclass Five:\n    pass\n"
        "def five():\n    return 5\ndef nothing():\n    pass\n"
        "def leaves():\n    sys.exit('licence expired')\n"
    )
    with pytest.raises(TaskError, match=r"is no Gymnasium environment|licence expired"):
        facts_of(tmp_path, code, what)


def test_a_file_finds_its_neighbours(tmp_path):
    (tmp_path / "beside_it_rw.py").write_text(BARE)
    assert facts_of(tmp_path, "from beside_it_rw import Bare\n")["class"] == "beside_it_rw.Bare"


@pytest.mark.parametrize(("delay_s", "expected"), [(1e-9, MAX_TIMESTEPS), (1.0, MIN_TIMESTEPS)])
def test_the_budget_fits_the_speed_of_the_environment(delay_s, expected):
    facts = introspect(EnvConfig(id="CartPole-v1"), HERE, "toy/made")
    facts["play"] |= {"step_s": delay_s, "reset_s": 0.0}
    assert draft_task(facts, env={"id": "CartPole-v1"}, goal="Go.").total_timesteps == expected


def test_what_a_policy_cannot_be_trained_on_is_refused_before_anything_is_written():
    with pytest.raises(TaskError, match="toy/made: cannot make NoSuch-v0"):
        introspect(EnvConfig(id="NoSuch-v0"), HERE, "toy/made")


class TestMujoco:
    """Numbers that the simulator knows."""

    @pytest.fixture(autouse=True)
    def _needs_mujoco(self):
        pytest.importorskip("mujoco")

    def test_joints_are_recognised_by_their_values(self):
        file, text = read(drafted({"id": "HalfCheetah-v5"}))
        by_source = {field.source: field for field in file.state}
        assert (by_source["obs[2]"].kind, by_source["obs[2]"].unit) == ("angle", "rad")
        velocity = by_source["obs[8:10]"]
        assert (velocity.name, velocity.kind, velocity.unit) == ("front_tip_velocity", "velocity", "m/s")
        assert by_source["info.x_position"].name == "x_position"
        assert not any("reward" in field.source for field in file.state)
        assert "bthigh (3, 3)" in text

    def test_a_free_joint_becomes_place_and_rotation(self):
        file, _ = read(
            drafted({"id": "Ant-v5", "kwargs": {"exclude_current_positions_from_observation": False}})
        )
        shapes = {field.name: field.shape for field in file.state}
        assert (shapes["root_position"], shapes["root_quaternion"]) == ((3,), (4,))


def test_dict_observations_keep_their_keys():
    pytest.importorskip("gymnasium_robotics")
    draft = drafted({"id": "FetchReach-v4", "imports": ["gymnasium_robotics"]})
    file, _ = read(draft)
    fields = {field.name: field for field in file.state}
    assert fields["desired_goal"].source == "obs.desired_goal"
    assert (fields["end_effector_position"].shape, fields["end_effector_position"].kind) == ((3,), "position")
    assert file.success is not None
    assert (file.success.source, file.success.when) == ("info.is_success", "last")


def test_a_goal_cannot_break_the_file():
    goal = 'Say: "stop" # now\n- and: go'
    file, _ = read(drafted({"id": "CartPole-v1"}, goal))
    assert file.goal == goal


def test_a_draft_is_the_same_whenever_it_is_made():
    first, second = (task_yaml(drafted({"id": "CartPole-v1"}), "toy/made") for _ in range(2))
    steps = "steps a second were simulated"
    assert [line for line in first.splitlines() if steps not in line and "total_timesteps" not in line] == [
        line for line in second.splitlines() if steps not in line and "total_timesteps" not in line
    ]


def test_an_id_that_is_not_known_names_the_extras_that_may_hold_it(monkeypatch, tmp_path):
    monkeypatch.setattr(looking, "is_installed", lambda extra: extra != "robotics")
    with pytest.raises(TaskError, match=r"NameNotFound.*theirs: pip install 'rewardsmith\[robotics\]'"):
        look_at(EnvConfig(id="NoSuch-v0"), folder=tmp_path, name="toy/made", timeout_s=60.0)
