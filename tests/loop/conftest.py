"""One tiny run, made once, that several tests only read."""

import json
from pathlib import Path

import pytest

from loop.tiny import tiny_config
from rewardsmith.loop.reporter import SilentReporter
from rewardsmith.loop.run import execute
from rewardsmith.services.journal.folder import RunFolder


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory) -> tuple[Path, dict]:
    """Return the folder of an undisturbed tiny run and its result."""
    root = tmp_path_factory.mktemp("undisturbed")
    folder = RunFolder.create(root, "run", tiny_config().model_dump(mode="json"))
    result = execute(folder, SilentReporter())
    return folder.path, json.loads(json.dumps(result))
