"""The embedded default backend: forked processes behind seccomp, Landlock and resource limits, on Linux.

Where bubblewrap works, the warm process and all its children also live in namespaces of their own, with a
file system that holds Python and NumPy and nothing else.
"""

import logging
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

from rewardsmith.services.forkserver import scrubbed_environment
from rewardsmith.services.launching import LaunchHere
from rewardsmith.services.sandbox.forked import ForkedSandbox

logger = logging.getLogger(__name__)

_PACKAGE = Path(__file__).resolve().parents[2]
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/ld.so.conf")
"""Where shared libraries are found."""
_PROBE_S = 20.0


class LocalSandbox(ForkedSandbox):
    """Starts one locked process per candidate on this machine."""

    def __init__(self) -> None:
        wrapper, reason = bubblewrap()
        features = {
            "namespaces": "user, mount, pid, net, ipc, uts (bubblewrap)" if wrapper else f"none: {reason}"
        }
        super().__init__("local", LaunchHere(wrapper), features=features)


@lru_cache(maxsize=1)
def bubblewrap() -> tuple[tuple[str, ...], str]:
    """Return the command that puts a process into namespaces of its own, tried out; or none, and why."""
    program = shutil.which("bwrap")
    if program is None:
        return (), "bubblewrap is not installed"
    command = _command(program)
    try:
        done = subprocess.run(
            [*command, sys.executable, "-s", "-P", "-c", "import numpy, rewardsmith.worker.reward.zygote"],
            env=scrubbed_environment(),
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return (), f"bubblewrap does not work here ({error})"
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        logger.info("bubblewrap does not work here: %s", done.stderr)
        return (), f"bubblewrap does not work here ({last[:200]})"
    return command, ""


def _command(program: str) -> tuple[str, ...]:
    # As root no user namespace is needed, and without one the lock can still change to another user.
    namespaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid() != 0:
        namespaces.insert(0, "--unshare-user")
    # No --die-with-parent: it would end with the thread that started it. It ends with our control socket.
    mounts = [part for path in _read_only_paths() for part in ("--ro-bind", str(path), str(path))]
    return (
        program,
        *namespaces,
        *mounts,
        "--proc",
        "/proc",
        "--chdir",
        "/",
        "--",
    )


def _read_only_paths() -> list[Path]:
    """Return what Python, NumPy and our worker need, and nothing of the user's beside it."""
    import numpy

    prefixes = {Path(prefix) for prefix in (sys.base_prefix, sys.prefix, sys.base_exec_prefix)}
    wanted = [
        *map(Path, _SYSTEM),
        # Of a prefix only this: a virtual environment may have been made right in a project or a home folder.
        *(prefix / part for prefix in sorted(prefixes) for part in ("bin", "lib", "lib64", "pyvenv.cfg")),
        Path(sysconfig.get_path("purelib")),
        Path(numpy.__file__).resolve().parent,
        Path(numpy.__file__).resolve().parent.with_name("numpy.libs"),
        _PACKAGE / "__init__.py",
        _PACKAGE / "worker",
        Path(os.path.realpath(sys.executable)).parent,
    ]
    return [path for path in dict.fromkeys(wanted) if path.exists() and path != Path("/")]
