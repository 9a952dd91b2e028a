"""What clients do to the process that they run in."""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SEARCH = os.pathsep.join([str(HERE), str(HERE.parent), str(HERE.parents[1] / "agent")])


def test_clients_print_nothing_leak_nothing_and_let_the_process_end(tmp_path):
    environment = {**os.environ, "PYTHONPATH": SEARCH, "LITELLM_LOG": "DEBUG"}
    environment.pop("LITELLM_MODE", None)
    process = subprocess.Popen(
        [
            sys.executable,
            "-W",
            "always::ResourceWarning",
            "-W",
            "always::RuntimeWarning",
            HERE / "clients_process.py",
        ],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = process.stdout.readline()
    started = time.monotonic()
    rest, complaints = process.communicate(timeout=30)
    # Taking LiteLLM's modules down takes seconds.
    assert time.monotonic() - started < 10.0, "something keeps the process alive"
    assert (process.returncode, said, rest) == (0, "left: []; files read: []\n", "")
    assert complaints == ""
