"""Chooses a sandbox backend by name."""

import logging
from collections.abc import Callable

from rewardsmith.errors import ConfigError, SandboxUnavailableError
from rewardsmith.services.sandbox.base import Sandbox

logger = logging.getLogger(__name__)

AUTO = "auto"
PLANNED = ("docker", "subprocess")


def _open_local() -> Sandbox:
    from rewardsmith.services.sandbox.local import LocalSandbox

    return LocalSandbox()


BACKENDS: dict[str, Callable[[], Sandbox]] = {"local": _open_local}
"""By name, the strongest first: the order in which `auto` tries them."""


def check_sandbox_name(name: str) -> None:
    """Raise ConfigError unless `name` is a backend of this version, or `auto`."""
    if name in PLANNED and name not in BACKENDS:
        raise ConfigError(f"sandbox {name!r} is not part of this version; use one of {_choices()}")
    if name != AUTO and name not in BACKENDS:
        raise ConfigError(f"unknown sandbox {name!r}; use one of {_choices()}")


def open_sandbox(name: str = AUTO) -> Sandbox:
    """Return a backend that has passed its self-test.

    Args:
        name: a backend, or `auto` for the strongest that works here.

    Raises:
        ConfigError: there is no such backend.
        SandboxUnavailableError: it does not work here; the message says why.
    """
    check_sandbox_name(name)
    return _open_strongest() if name == AUTO else _open_proven(name)


def _open_strongest() -> Sandbox:
    reasons = []
    for name in BACKENDS:
        try:
            sandbox = _open_proven(name)
        except SandboxUnavailableError as error:
            reasons.append(str(error))
        else:
            logger.info("sandbox: %s", name)
            return sandbox
    raise SandboxUnavailableError(f"no sandbox works here: {'; '.join(reasons)}")


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


def _choices() -> str:
    return ", ".join((AUTO, *BACKENDS))
