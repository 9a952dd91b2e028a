"""The image of the docker sandbox: what goes into it, and whether one that is there is the right one."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rewardsmith
from rewardsmith.errors import MissingExtraError, SandboxUnavailableError
from rewardsmith.resources import shipped_dir

if TYPE_CHECKING:
    import docker

IMAGE = f"rewardsmith-sandbox:{rewardsmith.__version__}"
DIGEST_LABEL = "rewardsmith.content"
_PACKAGE = Path(rewardsmith.__file__).resolve().parent
_MODULES = ("__init__.py", "worker/__init__.py", "worker/forkserver.py", "worker/reward/*.py")
_BUILD_FILES = ("Dockerfile", "requirements.txt")


def connect() -> "docker.DockerClient":
    """Return a client of the Docker engine that the environment names.

    Raises:
        MissingExtraError: the Docker SDK is not installed.
        SandboxUnavailableError: no engine answers.
    """
    try:
        import docker
    except ImportError:
        raise MissingExtraError("the docker sandbox needs: pip install 'rewardsmith[docker]'") from None
    try:
        client = docker.from_env(timeout=60)
        client.ping()
    except Exception as error:
        # The SDK lets through what its HTTP library raises.
        reason = " ".join(str(error).split())[:200]
        raise SandboxUnavailableError(
            f"no Docker engine answers ({reason}); start it, or use --sandbox local"
        ) from error
    return client


def build(client: "docker.DockerClient", base: str | None, network: str | None) -> Iterator[str]:
    """Build the image and yield what the engine says.

    Args:
        client: of the engine.
        base: the image to build from instead of the one in the Dockerfile.
        network: the network of the build's commands, such as `host`; None is the engine's default.

    Raises:
        SandboxUnavailableError: the build failed; the message holds the engine's last words.
    """
    import docker

    arguments: dict[str, Any] = {"buildargs": {"BASE": base} if base else {}}
    if network is not None:
        arguments["network_mode"] = network
    try:
        lines = client.api.build(
            fileobj=_context(),
            custom_context=True,
            tag=IMAGE,
            rm=True,
            forcerm=True,
            decode=True,
            labels={DIGEST_LABEL: content_digest()},
            **arguments,
        )
        for line in lines:
            if "error" in line:
                raise SandboxUnavailableError(f"the image cannot be built: {line['error'].strip()}")
            text = line.get("stream", line.get("status", "")).rstrip()
            if text:
                yield text
    except docker.errors.DockerException as error:
        raise SandboxUnavailableError(f"the image cannot be built: {error}") from error


def check_image(client: "docker.DockerClient") -> str:
    """Return the id of the image.

    Raises:
        SandboxUnavailableError: it is missing, or was built from other files.
    """
    import docker

    try:
        image = client.images.get(IMAGE)
    except docker.errors.ImageNotFound:
        raise SandboxUnavailableError(
            f"the image {IMAGE} is missing; `rewardsmith sandbox build` makes it"
        ) from None
    except docker.errors.DockerException as error:
        raise SandboxUnavailableError(f"the Docker engine does not answer: {error}") from error
    if image.labels.get(DIGEST_LABEL) != content_digest():
        raise SandboxUnavailableError(
            f"the image {IMAGE} was built from another version; `rewardsmith sandbox build` makes it anew"
        )
    return str(image.id)


def content_digest() -> str:
    """Return what identifies everything that goes into the image but the base."""
    digest = hashlib.sha256()
    for name, data in _files():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _files() -> Iterator[tuple[str, bytes]]:
    folder = shipped_dir("sandboxes")
    for name in _BUILD_FILES:
        yield name, (folder / name).read_bytes()
    for pattern in _MODULES:
        for path in sorted(_PACKAGE.glob(pattern)):
            yield f"rewardsmith/{path.relative_to(_PACKAGE)}", path.read_bytes()


def _context() -> io.BytesIO:
    """Return the build context as a tar archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, data in _files():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            tar.addfile(member, io.BytesIO(data))
    archive.seek(0)
    return archive
