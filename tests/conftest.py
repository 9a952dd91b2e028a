"""Fixtures that several folders of tests share."""

import pytest

from toy_tasks import write_task


@pytest.fixture
def task_folder(tmp_path):
    """A factory of temporary task folders: `task_folder(changes, files, name="toy/walk") -> Path`."""

    def make(changes=None, files=None, name="toy/walk"):
        return write_task(tmp_path / "tasks" / name, changes, files)

    return make


@pytest.fixture
def toy_task(task_folder):
    """The same, loaded: `toy_task(changes, files) -> Task`."""
    from rewardsmith.services.tasks.catalog import load_task

    return lambda *args, **kwargs: load_task(str(task_folder(*args, **kwargs)))
