"""`rewardsmith doctor`: whether everything that a run needs works here."""

import importlib.metadata
import os
import platform
import shutil
from dataclasses import asdict
from typing import Any

import typer

from rewardsmith import __version__
from rewardsmith.cli.console import say, say_json
from rewardsmith.cli.options import DEFAULT_ROOT, JsonOption, SandboxChoice
from rewardsmith.cli.run import usable_cores
from rewardsmith.errors import RewardsmithError

EXIT_NO_SANDBOX = 3

_PACKAGES = (
    "gymnasium",
    "stable-baselines3",
    "torch",
    "numpy",
    "scipy",
    "jinja2",
    "pydantic",
    "pyyaml",
    "rich",
    "tenacity",
    "typer",
)
_EXTRAS = {name: name for name in ("metaworld", "mujoco", "openai", "litellm")} | {"visual": "pillow"}
"""The extras, each with the package that tells whether it is there."""


def register(app: typer.Typer) -> None:
    """Add the command to the root group."""
    app.command("doctor", rich_help_panel="Set up")(doctor)


def doctor(as_json: JsonOption = False) -> None:
    """Report versions and extras, and prove each sandbox on itself.

    Exit code 3 where no sandbox works that locks reward code up.
    """
    sandboxes = [_examine(choice.value) for choice in SandboxChoice if choice is not SandboxChoice.auto]
    report = {
        "rewardsmith": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": usable_cores(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "extras": {name: _version(package) for name, package in _EXTRAS.items()},
        "runs_folder": _runs_folder(),
        "sandboxes": sandboxes,
    }
    if as_json:
        say_json(report)
    else:
        _show(report)
    if not any(sandbox["available"] and not sandbox["is_weak"] for sandbox in sandboxes):
        raise typer.Exit(EXIT_NO_SANDBOX)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _runs_folder() -> dict[str, Any]:
    folder = DEFAULT_ROOT.absolute()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK)
    return {"path": str(folder), "writable": writable, "free_bytes": shutil.disk_usage(nearest).free}


def _examine(name: str) -> dict[str, Any]:
    """Return what a sandbox backend proved on itself, or why it could not."""
    from rewardsmith.services.sandbox.factory import BACKENDS
    from rewardsmith.services.sandbox.latency import measure_latency

    try:
        sandbox = BACKENDS[name]()
        try:
            test = sandbox.self_test()
            latency = measure_latency(sandbox) if test.passed else None
        finally:
            sandbox.close()
    except (RewardsmithError, OSError, ImportError) as error:
        return _unavailable(name, str(error))
    n_failed = sum(not probe.passed for probe in test.probes)
    return {
        "name": name,
        "available": test.passed,
        "is_weak": test.is_weak,
        "latency": latency and asdict(latency),
        "reason": None if test.passed else f"{n_failed} of {len(test.probes)} probes failed",
        "features": test.features,
        "probes": [{**asdict(probe), "passed": probe.passed} for probe in test.probes],
    }


def _unavailable(name: str, reason: str) -> dict[str, Any]:
    return {
        "name": name,
        "available": False,
        "is_weak": False,
        "latency": None,
        "reason": reason,
        "features": {},
        "probes": [],
    }


def _show(report: dict[str, Any]) -> None:
    say(f"rewardsmith {report['rewardsmith']}, Python {report['python']}, {report['system']}")
    say(f"{report['cores']} usable cores")
    for name, version in report["packages"].items():
        say(f"  {name:<18} {version or 'MISSING'}")
    for name, version in report["extras"].items():
        say(f"  {name:<18} {version or _how_to_get(name)}")
    runs = report["runs_folder"]
    state = "writable" if runs["writable"] else "NOT WRITABLE"
    say(f"runs in {runs['path']}: {state}, {runs['free_bytes'] / 1e9:.1f} GB free")
    for sandbox in report["sandboxes"]:
        _show_sandbox(sandbox)


def _show_sandbox(sandbox: dict[str, Any]) -> None:
    state = "works" if sandbox["available"] else f"does not work: {sandbox['reason']}"
    if sandbox["is_weak"]:
        state += ", and only limits reward code: it needs --allow-weak-sandbox"
    say(f"sandbox {sandbox['name']}: {state}")
    if sandbox["latency"] is not None:
        start_ms, call_us = 1e3 * sandbox["latency"]["start_s"], 1e6 * sandbox["latency"]["call_s"]
        say(f"  a reward process starts in {start_ms:.1f} ms and answers 8 rows in {call_us:.0f} us")
    for name, value in sandbox["features"].items():
        say(f"  {name}: {value}")
    for probe in sandbox["probes"]:
        failed = "open  " if sandbox["is_weak"] else "FAILED"
        say(f"  {'ok    ' if probe['passed'] else failed} {probe['name']}: {probe['detail']}")


def _how_to_get(extra: str) -> str:
    return f"not installed: pip install 'rewardsmith[{extra}]'"
