"""Chooses a sandbox backend by name."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

from rewardsmith.errors import ConfigError, MissingExtraError, SandboxUnavailableError
from rewardsmith.services.sandbox.base import Sandbox

logger = logging.getLogger(__name__)

AUTO = "auto"
WEAK = "subprocess"
DOCKER_SOCKET = Path("/var/run/docker.sock")


def _open_local() -> Sandbox:
    from rewardsmith.services.sandbox.local import LocalSandbox

    return LocalSandbox()


def _open_weak() -> Sandbox:
    from rewardsmith.services.sandbox.weak import SubprocessSandbox

    return SubprocessSandbox()


def _open_docker() -> Sandbox:
    from rewardsmith.services.sandbox.docker import DockerSandbox

    return DockerSandbox()


BACKENDS: dict[str, Callable[[], Sandbox]] = {
    "docker": _open_docker,
    "local": _open_local,
    WEAK: _open_weak,
}
"""By name, the strongest first, as `auto` tries them; the weak one only where it is allowed."""


def check_sandbox_name(name: str, *, allow_weak: bool = False) -> None:
    """Raise ConfigError unless `name` is a backend, or `auto`, and is allowed."""
    if name != AUTO and name not in BACKENDS:
        raise ConfigError(f"unknown sandbox {name!r}; use one of {', '.join((AUTO, *BACKENDS))}")
    if name == WEAK and not allow_weak:
        raise ConfigError(
            f"the sandbox {WEAK} limits reward code and does not lock it up: the code could read your files "
            "and use the network; --allow-weak-sandbox accepts that"
        )


def open_sandbox(
    name: str = AUTO, *, allow_weak: bool = False, on_skip: Callable[[str], None] = lambda reason: None
) -> Sandbox:
    """Return a backend that has passed its self-test.

    Args:
        name: a backend, or `auto` for the strongest that works here.
        allow_weak: whether one that does not lock code up will do, where no other works.
        on_skip: told why `auto` passes over a backend.

    Raises:
        ConfigError: there is no such backend, or it is not allowed.
        SandboxUnavailableError: it does not work here; the message says why.
        MissingExtraError: it needs an extra that is not installed.
    """
    check_sandbox_name(name, allow_weak=allow_weak)
    return _open_strongest(allow_weak, on_skip) if name == AUTO else _open_proven(name)


def _open_strongest(allow_weak: bool, on_skip: Callable[[str], None]) -> Sandbox:
    reasons = []
    for name in BACKENDS:
        if name == WEAK and not allow_weak:
            continue
        if name == "docker" and not _may_have_docker():
            continue
        try:
            sandbox = _open_proven(name)
        except (SandboxUnavailableError, MissingExtraError) as error:
            on_skip(f"{name}: {error}")
            reasons.append(f"{name}: {error}")
        else:
            logger.info("sandbox: %s", name)
            return sandbox
    raise SandboxUnavailableError(f"no sandbox works here: {'; '.join(reasons)}")


def _may_have_docker() -> bool:
    """Return whether it is worth the time to load the Docker SDK and ask."""
    return bool(os.environ.get("DOCKER_HOST")) or DOCKER_SOCKET.exists()


def _open_proven(name: str) -> Sandbox:
    sandbox = BACKENDS[name]()
    try:
        result = sandbox.self_test()
        failed = [probe for probe in result.probes if not probe.passed]
        if not result.passed:
            what = "; ".join(f"{probe.name} ({probe.detail})" for probe in failed[:3]) or "no probe ran"
            raise SandboxUnavailableError(f"the self-test of sandbox {name!r} failed: {what}")
    except BaseException as error:
        sandbox.close()
        if isinstance(error, OSError):
            raise SandboxUnavailableError(f"sandbox {name!r} cannot start: {error}") from error
        raise
    return sandbox
