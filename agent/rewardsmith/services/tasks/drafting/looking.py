"""Asks a process of its own for facts about an environment: its code is the user's, and may do anything."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rewardsmith.errors import TaskError
from rewardsmith.services.forkserver import scrubbed_environment
from rewardsmith.services.tasks.catalog import is_installed
from rewardsmith.services.tasks.schema import EnvConfig

_MODULE = "rewardsmith.worker.trainer.introspection"
EXTRAS_WITH_IDS = ("robotics", "mo")
"""Extras whose packages register ids of their own."""


def look_at(env: EnvConfig, *, folder: Path, name: str, timeout_s: float) -> dict[str, Any]:
    """Return facts about an environment; see `introspect` in the module that is run.

    Args:
        env: which environment.
        folder: of the task, to which the file of a factory is relative.
        name: of the task, for messages.
        timeout_s: wall-clock limit.

    Raises:
        TaskError: it cannot be made, played or trained on, or it ends its process.
    """
    request = {"env": env.model_dump(mode="json"), "folder": str(folder), "name": name}
    with tempfile.TemporaryDirectory(prefix="rewardsmith-") as scratch:
        out = Path(scratch) / "facts.json"
        command = [sys.executable, "-s", "-P", "-m", _MODULE, json.dumps(request), str(out)]
        try:
            done = subprocess.run(
                command,
                env=scrubbed_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            raise TaskError(
                f"{name}: the environment was not made and played within {timeout_s:.0f} s"
            ) from None
        if not out.is_file():
            tail = done.stderr.strip().splitlines()
            reason = f": {tail[-1]}" if tail else ""
            raise TaskError(f"{name}: the environment ended its process with code {done.returncode}{reason}")
        answer: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if "refusal" in answer:
        raise TaskError(f"{answer['refusal']}{_hint(str(answer['refusal']))}")
    facts: dict[str, Any] = answer["facts"]
    return facts


def _hint(refusal: str) -> str:
    """Return which extras may hold an id that is not known here."""
    missing = [extra for extra in EXTRAS_WITH_IDS if not is_installed(extra)]
    if "NameNotFound" not in refusal or not missing:
        return ""
    return f"; if it is one of theirs: pip install 'rewardsmith[{','.join(missing)}]'"
