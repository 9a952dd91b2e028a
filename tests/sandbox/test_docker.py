"""The docker sandbox: its containers, its image, and an engine that goes away."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from loop.tiny import tiny_config
from rewardsmith.errors import SandboxUnavailableError
from rewardsmith.loop.reporter import SilentReporter
from rewardsmith.loop.run import execute
from rewardsmith.services.journal.folder import RunFolder
from rewardsmith.services.sandbox import docker as backend
from rewardsmith.services.sandbox import image
from rewardsmith.services.sandbox.base import SandboxLimits
from sandbox.helpers import GOOD, SPEC, batch, right_answer
from sandboxes import open_backend

pytestmark = [pytest.mark.docker, pytest.mark.timeout(400)]

HOLD = """
import sys
sys.path.insert(0, {tests!r})
from rewardsmith.services.sandbox.base import SandboxLimits
from rewardsmith.services.sandbox.docker import DockerSandbox
from sandbox.helpers import GOOD, SPEC
sandbox = DockerSandbox()
process = sandbox.open(GOOD, SPEC, SandboxLimits())
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def client():
    with open_backend("docker"):
        return image.connect()


@pytest.fixture
def containers(client):
    """Return the containers that were made since the test began; other tests keep some of their own."""

    def listed():
        return client.containers.list(all=True, filters={"label": backend.OWNER_LABEL}, ignore_removed=True)

    before = {container.id for container in listed()}
    return lambda: [container for container in listed() if container.id not in before]


def test_a_container_has_nothing_and_may_do_nothing(client, containers):
    with open_backend("docker") as sandbox, sandbox.open(GOOD, SPEC, SandboxLimits()):
        (container,) = containers()
        settings = client.api.inspect_container(container.id)
    host, config = settings["HostConfig"], settings["Config"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["IpcMode"] == "none"
    assert host["Memory"] == host["MemorySwap"] > 0
    assert host["PidsLimit"] > 0
    assert host["NanoCpus"] > 0
    assert not host["Privileged"]
    assert not host["Devices"]
    assert {u["Name"] for u in host["Ulimits"]} == {"core", "fsize", "nofile"}
    assert host["LogConfig"]["Config"]["max-size"]
    assert config["User"] == "65534:65534"
    (mount,) = settings["Mounts"]
    assert mount["Destination"] == "/run/rewardsmith"
    assert not mount["RW"]
    assert not [line for line in config["Env"] if "KEY" in line or "TOKEN" in line]


def test_nothing_is_left_when_a_sandbox_is_closed(client, containers):
    before = set(Path("/tmp").glob("rewardsmith-docker-*"))
    with open_backend("docker") as sandbox:
        sandbox.self_test()
        sandbox.open(GOOD, SPEC, SandboxLimits()).close()
        assert len(containers()) == 1, "the one of the self-test is gone"
    assert containers() == []
    assert set(Path("/tmp").glob("rewardsmith-docker-*")) == before


def test_a_host_that_is_killed_leaves_no_running_container_and_the_next_start_removes_it(client, containers):
    code = HOLD.format(tests=str(Path(__file__).parents[1]))
    host = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert host.stdout.readline() == b"ready\n"
    (container,) = containers()
    host.kill()
    host.wait()
    deadline = time.monotonic() + 10
    while container.status == "running" and time.monotonic() < deadline:
        time.sleep(0.1)
        container.reload()
    assert container.status == "exited"
    assert backend.sweep(client) == [container.name]
    assert containers() == []


def test_the_containers_of_a_living_process_are_not_swept(client):
    with open_backend("docker") as sandbox, sandbox.open(GOOD, SPEC, SandboxLimits()) as process:
        assert backend.sweep(client) == []
        rows = batch(5)
        np.testing.assert_allclose(process.call(rows).reward, right_answer(rows), rtol=1e-12)


def test_a_running_container_of_another_namespace_or_user_is_let_be(client, containers, monkeypatch):
    with open_backend("docker") as sandbox, sandbox.open(GOOD, SPEC, SandboxLimits()) as process:
        for changed in ("elsewhere:pid:[1]:0", f"{backend._boot_id()}:pid:[1]:{os.getuid()}"):
            with monkeypatch.context() as patch:
                patch.setattr(backend, "_here", lambda changed=changed: changed)
                assert backend.sweep(client) == []
        assert len(process.call(batch(3)).reward) == 3
        (container,) = containers()
        container.kill()
        container.wait()
        with monkeypatch.context() as patch:
            patch.setattr(backend, "_here", lambda: "elsewhere:pid:[1]:0")
            assert backend.sweep(client) == [container.name]


def test_the_users_proxies_are_not_for_the_box(client, containers, monkeypatch, tmp_path):
    proxies = {"default": {"httpProxy": "http://me:proxy-secret@proxy.example:3128"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with open_backend("docker") as sandbox, sandbox.open(GOOD, SPEC, SandboxLimits()):
        (container,) = containers()
        assert "proxy-secret" not in json.dumps(client.api.inspect_container(container.id))


@pytest.mark.parametrize("host", ["tcp://192.0.2.1:2375", "ssh://server"])
def test_an_engine_of_another_machine_is_refused(client, host, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(SandboxUnavailableError, match="may be another machine's"):
        backend.check_engine(client)


def test_an_engine_that_cannot_limit_is_refused(client, monkeypatch):
    info = client.info()
    monkeypatch.setattr(client, "info", lambda: {**info, "MemoryLimit": False})
    with pytest.raises(SandboxUnavailableError, match="cannot limit memory and processes here"):
        backend.check_engine(client)


def test_an_image_of_another_version_is_not_used(client, monkeypatch):
    monkeypatch.setattr(image, "content_digest", lambda: "0" * 64)
    with pytest.raises(SandboxUnavailableError, match="`rewardsmith sandbox build` makes it anew"):
        image.check_image(client)


def test_a_missing_image_says_how_to_make_it(client, monkeypatch):
    monkeypatch.setattr(image, "IMAGE", "rewardsmith-sandbox:nothing")
    with pytest.raises(SandboxUnavailableError, match="`rewardsmith sandbox build` makes it"):
        image.check_image(client)


def test_a_container_that_is_killed_is_not_the_candidates_fault(client, containers):
    with open_backend("docker") as sandbox, sandbox.open(GOOD, SPEC, SandboxLimits()) as process:
        (container,) = containers()
        container.kill()
        with pytest.raises(SandboxUnavailableError):
            process.call(batch(3))


class Engine:
    """A Docker engine of the test's own, which it may stop."""

    def __init__(self, folder, archive):
        self.folder, self._archive = folder, archive
        self.address = f"unix://{folder}/docker.sock"
        self._process = None

    def start(self):
        import docker

        self._process = subprocess.Popen(
            [
                "dockerd", "--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec",
                "-H", self.address, "--pidfile", f"{self.folder}/pid",
                "--iptables=false", "--ip6tables=false", "--bridge=none",
            ],
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
        )  # fmt: skip
        deadline = time.monotonic() + 30
        while True:
            try:
                client = docker.DockerClient(base_url=self.address)
                break
            except docker.errors.DockerException:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.2)
        if not client.images.list(image.IMAGE):
            with self._archive.open("rb") as file:
                client.images.load(file)

    def stop(self):
        self._process.terminate()
        self._process.wait(timeout=60)


@pytest.fixture
def engine(client, tmp_path):
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("an engine of its own needs root and dockerd")
    archive = tmp_path / "image.tar"
    with archive.open("wb") as file:
        for chunk in client.images.get(image.IMAGE).save(named=True):
            file.write(chunk)
    # A socket's path is short: pytest's folders are not.
    folder = Path(f"/tmp/rwe-{os.getpid()}")
    folder.mkdir()
    engine = Engine(folder, archive)
    engine.start()
    yield engine
    engine.stop()
    for mounted in re.findall(rf" ({folder}\S*) ", Path("/proc/mounts").read_text()):
        subprocess.run(["umount", mounted], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_an_engine_that_stops_pauses_the_run_and_resume_finishes_it(engine, tmp_path):
    config = tiny_config().model_copy(update={"sandbox": "docker"})
    undisturbed = execute(
        RunFolder.create(tmp_path, "local", tiny_config().model_dump(mode="json")), SilentReporter()
    )
    folder = RunFolder.create(tmp_path, "run", config.model_dump(mode="json"))
    environment = {**os.environ, "DOCKER_HOST": engine.address}
    command = [sys.executable, "-m", "rewardsmith", "resume", str(folder.path)]
    run = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while '"i01/screen"' not in folder.journal_path.read_text() if folder.journal_path.exists() else True:
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.05)
    engine.stop()
    _, said = run.communicate(timeout=120)
    assert run.returncode == 3, said
    (line,) = [line for line in said.splitlines() if line.startswith("error:")]
    assert "Traceback" not in said
    assert f"`rewardsmith resume {folder.path}` goes on from here" in line
    refused = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert refused.returncode == 3
    assert "no Docker engine answers" in refused.stderr
    engine.start()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    result = json.loads((folder.path / "result.json").read_text())
    assert result["sandbox"] == "docker"
    assert result["winner"] == json.loads(json.dumps(undisturbed))["winner"]
