"""Keys and files of the user are in nothing that reward code manages to answer, print or write."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hostile.corpus import load
from sandboxes import open_backend

KEY, FILE = "sk-canary-in-the-environment-4711", "canary-in-the-home-folder-0815"
HOST = Path(__file__).with_name("secret_host.py")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local", pytest.param("docker", marks=pytest.mark.docker)])
def test_no_byte_of_a_secret_comes_out_of_the_corpus(name, tmp_path):
    open_backend(name).close()
    home = Path(tempfile.mkdtemp(dir="/tmp", prefix="home-"))
    home.chmod(0o755)
    (home / "canary.txt").write_text(FILE)
    out_file = tmp_path / "out.json"
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, str(HOST), name, str(out_file)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
    )
    (home / "canary.txt").unlink()
    home.rmdir()
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(out_file.read_text(encoding="utf-8"))
    assert set(found["locked"]) == {case.name for case in load() if case.entry in ("checked", "raw")} | {
        "thief"
    }
    for said in (json.dumps(found["locked"]), done.stdout, done.stderr):
        assert KEY[3:] not in said
        assert FILE not in said
    # The same thief finds both where nothing holds it.
    assert KEY in found["unlocked"]["printed"]
    assert FILE in found["unlocked"]["printed"]
