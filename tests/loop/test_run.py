"""What an undisturbed run leaves behind."""

import json
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rewardsmith.loop.run import REWARD_FILE

pytestmark = pytest.mark.slow

TRAIN_ON_IT = """
import sys
import gymnasium, numpy
from stable_baselines3 import PPO
try:
    import rewardsmith.errors
except ImportError:
    pass
else:
    sys.exit("rewardsmith is installed here; this proves nothing")
import reward
env = reward.RewardWrapper(gymnasium.make("Pendulum-v1"))
model = PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, policy_kwargs={"net_arch": [16]})
model.learn(128)
obs, info = env.reset(seed=1)
obs, total, terminated, truncated, info = env.step(env.action_space.sample())
assert numpy.isfinite(total) and "original_reward" in info
assert abs(sum(info["reward_components"].values()) - total) < 1e-9
print("trained")
"""


def decisions(path: Path) -> dict[str, dict]:
    events = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    return {event["key"]: event["payload"] for event in events if event["type"] == "decision"}


def test_every_arm_is_measured_with_the_same_seeds(finished_run):
    path, result = finished_run
    arms = result["final"]["arms"]
    assert set(arms) == {"winner", "human", "sparse", "zero", "progress"}
    for arm in arms.values():
        assert len(arm["fitness"]) == 2
        assert arm["n_failed"] == 0
        assert arm["fitness_iqm"]["n"] == 2
    confirmed = decisions(path)["i01/confirm"]["judged"]
    confirmed |= decisions(path).get("i02/confirm", {"judged": {}})["judged"]
    assert result["totals"]["trainings"] == 2 * 3 + len(confirmed) + 5 * 2


def test_halving_stops_the_weaker_trainings(finished_run):
    path, _ = finished_run
    for iteration in ("i01", "i02"):
        cut = decisions(path)[f"{iteration}/rung1"]
        assert len(cut["judged"]) == 3
        assert len(cut["kept"]) == 2
        assert set(decisions(path)[f"{iteration}/rung2"]["judged"]) == set(cut["kept"])


def test_the_winner_is_the_best_that_was_confirmed(finished_run):
    path, result = finished_run
    confirmed = decisions(path)["i01/confirm"]["judged"]
    assert len(confirmed) == 2
    confirmed |= decisions(path).get("i02/confirm", {"judged": {}})["judged"]
    best = max(confirmed, key=lambda name: (confirmed[name]["fitness"], confirmed[name]["progress"]))
    assert result["winner"]["id"] == best
    assert result["winner"]["fitness"] == confirmed[best]["fitness"]


def test_the_total_of_environment_steps_is_what_the_effects_used(finished_run):
    path, result = finished_run
    events = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    used = [event["answer"].get("env_steps", 0) for event in events if event["type"] == "answer"]
    assert sum(used) == result["totals"]["env_steps"]


def test_seeds_of_search_and_final_comparison_are_disjoint(finished_run):
    path, _ = finished_run
    events = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    requests = [e for e in events if e["type"] == "request" and "judge_seeds" in e["request"]]
    seeds = {
        part: {
            seed
            for e in requests
            if (e["key"].split("/")[0] == "final") == (part == "final")
            for seed in [e["request"]["seed"], *e["request"]["judge_seeds"]]
        }
        for part in ("search", "final")
    }
    assert seeds["search"]
    assert seeds["final"]
    assert not seeds["search"] & seeds["final"]


def test_effects_have_structural_keys_and_appear_once(finished_run):
    path, _ = finished_run
    events = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    keys = Counter((event["type"], event["key"]) for event in events if event["type"] != "header")
    assert set(keys.values()) == {1}
    assert ("answer", "i01/propose") in keys


def test_stable_baselines_trains_on_the_exported_reward_without_rewardsmith(finished_run, tmp_path):
    path, _ = finished_run
    (tmp_path / "reward.py").write_text((path / REWARD_FILE).read_text())
    # A new environment that sees the installed libraries, but not what is installed as editable.
    venv.create(tmp_path / "venv", with_pip=False)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(str(Path(np.__file__).parents[1]))
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-c", TRAIN_ON_IT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "trained"


def test_the_exported_file_imports_without_gymnasium(finished_run, tmp_path):
    path, _ = finished_run
    (tmp_path / "reward.py").write_text((path / REWARD_FILE).read_text())
    code = (
        "import sys; sys.modules['gymnasium'] = None; import numpy as np, reward; "
        "s = np.zeros(3); print(reward.reward_of_step(s, [0.5], s, False)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert np.isfinite(float(done.stdout))
