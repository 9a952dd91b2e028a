"""The wheel carries what a checkout has: built by way of the source distribution, used from elsewhere."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = ("sandboxes", "prompts", "tasks")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("build", reason="needs the package build")
    pytest.importorskip("hatchling", reason="needs the package hatchling")
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT])
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A new environment with the wheel; everything that it depends on is borrowed from this one."""
    pytest.importorskip("pip", reason="needs the package pip")
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site_packages = Path(
        run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    )
    run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            wheel,
        ]
    )
    # Folders named in a .pth are not searched for further .pth files, so the checkout stays out of sight.
    borrowed = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (site_packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n", encoding="utf-8")
    return python


def run(command, cwd=None):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def files_under(folder):
    """Return the relative paths of all files but those in caches."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return {
        path.as_posix()
        for path in paths
        if not any(parent.name.startswith((".", "__")) for parent in path.parents if parent.name)
    }


@pytest.mark.parametrize("kind", SHIPPED)
def test_a_shipped_folder_is_in_the_wheel(wheel, kind):
    prefix = f"rewardsmith/_resources/{kind}/"
    with zipfile.ZipFile(wheel) as archive:
        packed = {name.removeprefix(prefix) for name in archive.namelist() if name.startswith(prefix)}
    assert packed == files_under(ROOT / kind)


def test_the_package_in_the_wheel_is_whole(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"rewardsmith/{name}" for name in files_under(ROOT / "agent" / "rewardsmith")} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_installed_wheel_is_what_is_imported(python, tmp_path):
    imported = run([python, "-c", "import rewardsmith; print(rewardsmith.__file__)"], cwd=tmp_path)
    assert Path(imported.strip()).is_relative_to(python.parents[1])


def test_the_installed_wheel_finds_its_tasks_from_any_folder(python, tmp_path):
    listed = run([python.with_name("rewardsmith"), "task", "list", "--json"], cwd=tmp_path)
    names = {f"{file.parent.parent.name}/{file.parent.name}" for file in ROOT.glob("tasks/*/*/task.yaml")}
    assert names
    assert all(json.dumps(name) in listed for name in names)


def test_the_installed_wheel_finds_its_method_and_the_code_of_a_task(python, tmp_path):
    code = (
        "from rewardsmith.loop.setup import load_method\n"
        "from rewardsmith.services.tasks.catalog import load_task\n"
        "print(load_method('rewardsmith').description)\n"
        "print(*load_task('metaworld/drawer-open').code_files, sep='\\n')"
    )
    description, *files = run([python, "-c", code], cwd=tmp_path).splitlines()
    assert description
    assert {Path(file).name for file in files} == {"env.py", "expert.py", "moving.py"}
    assert all(Path(file).is_relative_to(python.parents[1]) for file in files)
