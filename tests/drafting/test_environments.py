"""What a person may call an environment."""

import pytest

from rewardsmith.errors import ConfigError
from rewardsmith.services.tasks.drafting.environments import env_config, extras_of


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.py").touch()
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "hand.py").touch()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pendulum-v1", {"id": "Pendulum-v1"}),
        ("phys2d/CartPole-v1", {"id": "phys2d/CartPole-v1"}),
        ("gymnasium_robotics:FetchReach-v4", {"id": "FetchReach-v4", "imports": ["gymnasium_robotics"]}),
        ("arm.py:ArmEnv", {"factory": "../../../arm.py:ArmEnv"}),
        ("arm:make", {"factory": "../../../arm.py:make"}),
        ("robots.hand:Hand", {"factory": "../../../robots/hand.py:Hand"}),
        ("installed.package:Env", {"factory": "installed.package:Env"}),
        (
            "metaworld:door-open-v3",
            {
                "factory": "metaworld/env.py:make",
                "kwargs": {"env_name": "door-open-v3"},
                "max_episode_steps": 500,
            },
        ),
    ],
)
def test_a_name_becomes_the_key_env_of_a_task(tmp_path, text, expected):
    config = env_config(text, kwargs={}, folder=tmp_path / "tasks" / "own" / "x")
    assert config.model_dump(mode="json", exclude_defaults=True) == expected


def test_meta_worlds_own_id_uses_the_adapter_too(tmp_path):
    config = env_config("Meta-World/MT1", kwargs={"env_name": "reach-v3"}, folder=tmp_path)
    assert (config.factory, config.kwargs) == ("metaworld/env.py:make", {"env_name": "reach-v3"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("leg.py:Leg", "there is no file leg.py"),
        ("Meta-World/MT1", "say which"),
        ("arm.py", "name the class or function in it: arm.py:NAME"),
        ("arm.py:", "name the class or function in it: arm.py:NAME"),
    ],
)
def test_what_is_not_there_is_told(tmp_path, text, reason):
    with pytest.raises(ConfigError, match=f"--env {text}: {reason}"):
        env_config(text, kwargs={}, folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("gymnasium.envs.mujoco.ant_v5.AntEnv", ("mujoco",)),
        ("gymnasium.envs.box2d.lunar_lander.LunarLander", ("box2d",)),
        ("gymnasium_robotics.envs.fetch.reach.MujocoFetchReachEnv", ("robotics",)),
        ("gymnasium.envs.classic_control.pendulum.PendulumEnv", ()),
    ],
)
def test_the_class_of_an_environment_tells_the_extra(name, extras):
    assert extras_of(name) == extras
