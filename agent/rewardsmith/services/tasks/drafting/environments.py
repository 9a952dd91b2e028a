"""What a person may call an environment by, and the key `env` of a task that it means."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardsmith.errors import ConfigError
from rewardsmith.services.tasks.schema import EnvConfig

META_WORLD = "metaworld"
META_WORLD_FACTORY = "metaworld/env.py:make"
"""Meta-World's own environments ignore the seed of a reset and hide the goal; this adapter mends both."""

EXTRA_OF_PACKAGE = {
    "gymnasium.envs.mujoco": "mujoco",
    "gymnasium.envs.box2d": "box2d",
    "gymnasium_robotics": "robotics",
    "mo_gymnasium": "mo",
    "metaworld": "metaworld",
}
"""Extras of rewardsmith that install the packages which environments come from."""


def env_config(
    text: str, *, kwargs: Mapping[str, Any], imports: Sequence[str] = (), folder: Path
) -> EnvConfig:
    """Return the key `env` for an environment named by a person.

    Args:
        text: a registered id, `module:Id-v0`, `module:Class`, or `file.py:Class` (or a function).
        kwargs: what it is made with.
        imports: modules that register ids.
        folder: of the task, to which a file will be relative.

    Raises:
        ConfigError: it is none of these.
    """
    module, separator, rest = text.rpartition(":")
    if module == META_WORLD or text == "Meta-World/MT1":
        return _meta_world(rest if separator else "", kwargs)
    if text.removesuffix(":").endswith(".py"):
        raise ConfigError(f"--env {text}: name the class or function in it: {text.removesuffix(':')}:NAME")
    if not separator or not re.fullmatch(r"[A-Za-z_]\w*", rest):
        # What has a version or a slash is an id, such as `my_package:MyEnv-v0`.
        named = (*imports, *([module] if separator else []))
        return EnvConfig(id=rest, kwargs=dict(kwargs), imports=named)
    path = Path(module if module.endswith(".py") else module.replace(".", "/") + ".py")
    if path.is_file():
        relative = Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
        return EnvConfig(factory=f"{relative}:{rest}", kwargs=dict(kwargs), imports=tuple(imports))
    if module.endswith(".py"):
        raise ConfigError(f"--env {text}: there is no file {module}")
    return EnvConfig(factory=text, kwargs=dict(kwargs), imports=tuple(imports))


def _meta_world(name: str, kwargs: Mapping[str, Any]) -> EnvConfig:
    name = name or str(kwargs.get("env_name", ""))
    if not name:
        raise ConfigError("--env Meta-World/MT1: say which, by --env metaworld:drawer-open-v3")
    rest = {key: value for key, value in kwargs.items() if key != "env_name"}
    return EnvConfig(factory=META_WORLD_FACTORY, kwargs={"env_name": name, **rest}, max_episode_steps=500)


def extras_of(class_name: str) -> tuple[str, ...]:
    """Return the extras that an environment needs, by the full name of its class."""
    return tuple(extra for package, extra in EXTRA_OF_PACKAGE.items() if class_name.startswith(f"{package}."))
