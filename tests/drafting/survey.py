"""`task new` and `task check` on every environment that the installed packages register."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rewardsmith.errors import RewardsmithError
from rewardsmith.services.executor.trainers import TrainerHost
from rewardsmith.services.tasks.catalog import load_task
from rewardsmith.services.tasks.drafting.draft import draft_task
from rewardsmith.services.tasks.drafting.environments import env_config, extras_of
from rewardsmith.services.tasks.drafting.looking import look_at
from rewardsmith.services.tasks.drafting.writing import task_yaml

TIMEOUT_S = 240.0

LIST_IDS = """
import json, warnings
warnings.filterwarnings("ignore")
import gymnasium, gymnasium_robotics
from metaworld.env_dict import ALL_V3_ENVIRONMENTS
gymnasium.register_envs(gymnasium_robotics)
families = ("classic_control", "box2d", "mujoco", "toy_text", "gymnasium_robotics")
ids = [
    id for id, spec in gymnasium.registry.items()
    if spec.namespace is None and any(family in str(spec.entry_point) for family in families)
]
print(json.dumps(ids + [f"metaworld:{name}" for name in ALL_V3_ENVIRONMENTS]))
"""


@dataclass(frozen=True)
class Row:
    """What became of one environment, and why.

    `passes`; `fails`; `refused`, since its spaces are not supported; `absent`, since the environment itself
    needs a library that is not installed, as those of the old mujoco_py do.
    """

    env: str
    outcome: str
    reason: str = ""


def every_id():
    """Ids of Gymnasium's own environments, of Gymnasium-Robotics and of Meta-World."""
    done = subprocess.run([sys.executable, "-c", LIST_IDS], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _outcome(error):
    if "not supported: " in error or "which are not supported" in error:
        return "refused"
    return "absent" if "DependencyNotInstalled" in error or "ImportError" in error else "fails"


def survey_one(env, root):
    """Draft a task of one environment below `root` and check it."""
    name = f"survey/{''.join(c if c.isalnum() or c in '._-' else '-' for c in env)}"
    folder = Path(root) / "tasks" / name
    try:
        config = env_config(env, kwargs={}, folder=folder)
        facts = look_at(config, folder=folder, name=name, timeout_s=TIMEOUT_S)
        config = config.model_copy(update={"imports": tuple(facts["imports"])})
        env_keys = config.model_dump(mode="json", exclude_defaults=True)
        draft = draft_task(
            facts, env=env_keys, goal="Do what is to be done.", requires=extras_of(facts["class"])
        )
        folder.mkdir(parents=True)
        (folder / "task.yaml").write_text(task_yaml(draft, name))
        host = TrainerHost(load_task(str(folder)))
        try:
            (answer,) = host.run({"kind": "check", "seed": 0}, TIMEOUT_S)
        finally:
            host.close()
    except RewardsmithError as error:
        return Row(env, _outcome(str(error)), str(error))
    errors = [finding["text"] for finding in answer["findings"] if finding["level"] == "error"]
    return Row(env, "fails" if errors else "passes", "; ".join(errors))
