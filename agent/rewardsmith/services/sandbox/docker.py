"""The docker backend: the warm process and all reward processes live in a container without anything.

The container connects to a Unix socket in a folder that is mounted into it; memory and pipes of each reward
process are handed over as file descriptors, so that a call costs what it costs without a container. Inside,
each reward process puts on the same lock as with the backend `local`.
"""

import contextlib
import os
import shutil
import socket
import struct
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardsmith.errors import SandboxUnavailableError
from rewardsmith.services.launching import find_pid
from rewardsmith.services.sandbox.forked import ForkedSandbox
from rewardsmith.services.sandbox.image import check_image, connect

if TYPE_CHECKING:
    import docker
    from docker.models.containers import Container

OWNER_LABEL = "rewardsmith.owner"
"""Who started a container: boot, process namespace, user, process and its start."""
_NOBODY = 65534
_SOCKET_FOLDER = "/run/rewardsmith"
_MEMORY_SHARE = 0.75
"""Of the machine's memory, for all reward processes together; each has a limit of its own, which is lower."""
_MAX_PIDS = 256
_CONNECT_S = 60.0
_POLL_S = 0.2
_KEPT_LOG_BYTES = 64 * 1024
_NOT_FOR_A_CONTAINER = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")


class DockerSandbox(ForkedSandbox):
    """Starts one locked process per candidate, all of them in one container.

    Raises:
        MissingExtraError: the Docker SDK is not installed.
        SandboxUnavailableError: no engine answers, or the image is missing or old.
    """

    def __init__(self) -> None:
        client = connect()
        check_engine(client)
        image = check_image(client)
        sweep(client)
        version = client.version().get("Version", "unknown")
        features = {
            "engine": str(version),
            "image": image.removeprefix("sha256:")[:12],
            "container": "no network, read-only, no capabilities, uid 65534",
        }
        super().__init__(
            "docker", LaunchInContainer(client, image), features=features, arguments=("contained",)
        )


class LaunchInContainer:
    """Starts warm processes in containers.

    Args:
        client: of the engine.
        image: id of the image.
    """

    def __init__(self, client: "docker.DockerClient", image: str) -> None:
        self._client, self._image = client, image

    def __call__(self, module: str, args: Sequence[str], env: Mapping[str, str]) -> "ContainerProcess":
        """Start one; see `Launcher`. The image knows the module."""
        outer = Path(tempfile.mkdtemp(prefix="rewardsmith-docker-"))
        try:
            return self._start(outer, args, env)
        except BaseException as error:
            shutil.rmtree(outer, ignore_errors=True)
            if isinstance(error, Exception) and not isinstance(error, OSError):
                # The SDK raises its own errors and those of its HTTP library.
                raise OSError(" ".join(str(error).split())[:300]) from error
            raise

    def _start(self, outer: Path, args: Sequence[str], env: Mapping[str, str]) -> "ContainerProcess":
        from docker.types import Mount

        # The outer folder keeps other users out; the inner one must be open to the container's user.
        inner = outer / "socket"
        inner.mkdir()
        inner.chmod(0o755)
        path = inner / "control"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen(1)
            container = self._client.containers.create(
                self._image,
                [*args, f"{_SOCKET_FOLDER}/control"],
                environment={k: v for k, v in env.items() if k not in _NOT_FOR_A_CONTAINER},
                # As a mount, not a volume: for a folder that it does not have, an engine would make one.
                mounts=[Mount(_SOCKET_FOLDER, str(inner), type="bind", read_only=True)],
                labels={OWNER_LABEL: owner()},
                # The user's proxies, with their passwords, are for the user's containers.
                use_config_proxy=False,
                **_walls(),
            )
            log = _Log(container)
            try:
                container.start()
                control = _accept(listener, container, log)
            except BaseException:
                _remove(container)
                raise
        # Connected, it is not needed any more, and nothing is left of it should this process be killed.
        shutil.rmtree(outer, ignore_errors=True)
        return ContainerProcess(control, container, log)


class ContainerProcess:
    """A warm process in a container; see `WarmProcess`."""

    shares_memory = True

    def __init__(self, control: socket.socket, container: "Container", log: "_Log") -> None:
        self.control = control
        self._container, self._log = container, log
        credentials = control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        self._pid = int(struct.unpack("3i", credentials)[0])

    def end(self, timeout_s: float) -> None:
        """Remove the container: nothing in it is worth waiting for."""
        self.control.close()
        _remove(self._container)

    def stderr_tail(self, n_bytes: int) -> str:
        """Return the end of what was written in the container."""
        return self._log.tail(n_bytes)

    def outer_pid(self, inner: int) -> int | None:
        """Return the number of a child on this machine."""
        return find_pid(self._pid, inner) if self._pid else None


class _Log:
    """Keeps the end of what a container writes, also when it is gone."""

    def __init__(self, container: "Container") -> None:
        self._kept: deque[bytes] = deque()
        self._size = 0
        stream = container.attach(stdout=True, stderr=True, stream=True, logs=True)
        threading.Thread(target=self._read, args=(stream,), name="container-log", daemon=True).start()

    def tail(self, n_bytes: int) -> str:
        return b"".join(self._kept)[-n_bytes:].decode(errors="replace").strip()

    def _read(self, stream: Any) -> None:
        # Whatever the engine's connection ends with, there is nothing more to read.
        with contextlib.suppress(Exception):
            for chunk in stream:
                self._kept.append(chunk)
                self._size += len(chunk)
                while self._size > _KEPT_LOG_BYTES and len(self._kept) > 1:
                    self._size -= len(self._kept.popleft())


def _walls() -> dict[str, Any]:
    """Return everything that a container must not have or do."""
    from docker.types import LogConfig, Ulimit

    cores = len(os.sched_getaffinity(0))
    memory_bytes = int(_MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return {
        "network_mode": "none",
        "read_only": True,
        "user": f"{_NOBODY}:{_NOBODY}",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "ipc_mode": "none",
        "mem_limit": memory_bytes,
        "memswap_limit": memory_bytes,
        "pids_limit": _MAX_PIDS,
        "nano_cpus": cores * 1_000_000_000,
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="fsize", soft=1_000_000, hard=1_000_000),
            Ulimit(name="nofile", soft=1024, hard=1024),
        ],
        "log_config": LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
        "hostname": "box",
        "init": False,
        "tty": False,
        "stdin_open": False,
        # As the first process of its container, Python would let SIGTERM pass.
        "stop_signal": "SIGKILL",
    }


def _accept(listener: socket.socket, container: "Container", log: _Log) -> socket.socket:
    """Wait until the container connects.

    Raises:
        OSError: it ended, or took too long.
    """
    listener.settimeout(_POLL_S)
    deadline = time.monotonic() + _CONNECT_S
    while time.monotonic() < deadline:
        try:
            control, _ = listener.accept()
        except TimeoutError:
            container.reload()
            if container.status in ("exited", "dead"):
                time.sleep(_POLL_S)
                last = (log.tail(2000).splitlines() or ["it said nothing"])[-1]
                raise OSError(f"the container ended at once: {last}") from None
            continue
        control.settimeout(None)
        return control
    raise OSError("the container did not connect; the engine must run on this machine")


def _remove(container: "Container") -> None:
    # An engine that does not answer cannot be asked; the next start sweeps.
    with contextlib.suppress(Exception):
        container.remove(force=True, v=True)


def check_engine(client: "docker.DockerClient") -> None:
    """Refuse an engine that cannot hold the walls.

    Raises:
        SandboxUnavailableError: it is on another machine, or cannot limit memory or processes.
    """
    host = os.environ.get("DOCKER_HOST", "")
    if host and not host.startswith("unix://"):
        raise SandboxUnavailableError(
            f"the Docker engine at {host} may be another machine's; the sandbox needs one of this machine, "
            "by a unix:// address"
        )
    info = client.info()
    missing = [what for what in ("MemoryLimit", "PidsLimit") if not info.get(what)]
    if missing:
        raise SandboxUnavailableError(
            f"the Docker engine cannot limit memory and processes here ({', '.join(missing)} missing); a "
            "rootless engine needs its control groups delegated"
        )


def owner() -> str:
    """Return what identifies this process until the machine is started again."""
    return f"{_here()}:{os.getpid()}:{_started(os.getpid())}"


def sweep(client: "docker.DockerClient") -> list[str]:
    """Remove the containers that processes left behind which are gone; return their names.

    A container ends with its owner. So where an owner cannot be seen from here, being of another user or
    namespace, its container is removed only if it does not run.
    """
    removed = []
    for container in client.containers.list(all=True, filters={"label": OWNER_LABEL}, ignore_removed=True):
        if not _may_be_in_use(container.labels.get(OWNER_LABEL, ""), container.status):
            removed.append(str(container.name))
            _remove(container)
    return removed


def _may_be_in_use(label: str, status: str) -> bool:
    place, _, rest = label.rpartition(":")[0].rpartition(":")
    started = label.rpartition(":")[2]
    if place == _here() and rest.isdecimal():
        return started != "" and _started(int(rest)) == started
    return status not in ("exited", "dead")


def _here() -> str:
    """Return the boot, the process namespace and the user: who shares them can see each other's processes."""
    return f"{_boot_id()}:{Path('/proc/self/ns/pid').readlink()}:{os.getuid()}"


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _started(pid: int) -> str:
    """Return when a process was started, in clock ticks since boot; empty where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
