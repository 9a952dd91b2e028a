"""The command line as a process, and the smallest run that still does everything."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TINY = (
    "propose.candidates=12",
    "store.episodes=6",
    "train.keep=2",
    "stop.iterations=1",
    "final.seeds=1",
    "task.training.total_timesteps=2048",
    "task.training.hyperparameters.n_steps=32",
    "task.judge.episodes=2",
    "task.judge.final_episodes=2",
)

TINY_RUN = ("run", "classic/pendulum", "--workers", "2", *(part for key in TINY for part in ("-s", key)))

# Without an engine in sight `auto` is the local sandbox, which starts sooner.
_LEFT_OUT = ("DOCKER_HOST", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "COLUMNS")


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "rewardsmith", *args]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    return kept | {"OMP_NUM_THREADS": "1", "TERM": "xterm-256color"} | dict(extra or {})


def rewardsmith(
    *args: str, cwd: Path, stdout: int = subprocess.PIPE, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*args),
        cwd=cwd,
        env=environment(variables),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=200,
    )
