import json
from pathlib import Path
from typing import Any

import pytest
from cli_process import TINY_RUN, rewardsmith


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A real tiny run and the JSON document that it ended with; leave it as it is."""
    folder = tmp_path_factory.mktemp("a run of ours") / "ünïcode run"
    done = rewardsmith(*TINY_RUN, "--out", str(folder), "--json", cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)
