"""Writes a base image for the docker sandbox to stdout, from this machine's own Python and NumPy, as tar.

For machines that reach no image registry:

    .venv/bin/python .ci/sandbox_base.py | docker import - rewardsmith-base
    .venv/bin/rewardsmith sandbox build --base rewardsmith-base
"""

import importlib.util
import io
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

PREFIX = Path("/usr/local")
SKIPPED = (
    "__pycache__",
    "site-packages",
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "ensurepip",
    "lib2to3",
    "turtledemo",
)


def shared_libraries(files: list[Path]) -> set[Path]:
    """Return every shared library that the files are linked with, by the path at which it is looked for."""
    found: set[Path] = set()
    for start in range(0, len(files), 50):
        listed = subprocess.run(["ldd", *map(str, files[start : start + 50])], capture_output=True, text=True)
        found |= {Path(path) for path in re.findall(r"(/\S+\.so\S*)", listed.stdout) if ":" not in path}
    return {path for path in found if path.exists()}


def main() -> None:
    """Write the archive."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    stdlib = Path(sysconfig.get_path("stdlib"))
    program = Path(sys.executable).resolve()
    numpy = Path(importlib.util.find_spec("numpy").origin).parent
    library = [
        p
        for p in sorted(stdlib.rglob("*"))
        if p.is_file() and p.suffix != ".a" and not set(SKIPPED) & set(p.parts)
    ]
    members = {PREFIX / "lib" / version / p.relative_to(stdlib): p for p in library}
    for folder in (numpy, numpy.with_name("numpy.libs")):
        for p in sorted(folder.rglob("*")):
            if p.is_file() and "__pycache__" not in p.parts and "tests" not in p.parts:
                members[PREFIX / "lib" / version / "site-packages" / p.relative_to(folder.parent)] = p
    shell = Path("/bin/sh").resolve()
    linked = [program, shell, *(p for p in members.values() if p.suffix == ".so" or ".so." in p.name)]
    inside = {p.resolve() for p in members.values()}
    for p in sorted(shared_libraries(linked)):
        if p.resolve() not in inside:
            # A Python of one's own may have its library anywhere; in the image it lies where one looks.
            at = (
                p
                if p.is_relative_to("/lib") or p.is_relative_to("/lib64") or p.is_relative_to("/usr")
                else (Path("/usr/lib") / p.name)
            )
            members[at] = p.resolve()
    members |= {PREFIX / "bin" / "python3": program, Path("/bin/sh"): shell}
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for at, path in members.items():
            data = path.read_bytes()
            member = tarfile.TarInfo(str(at).lstrip("/"))
            member.size, member.mode = len(data), 0o755 if path.stat().st_mode & 0o111 else 0o644
            tar.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    main()
