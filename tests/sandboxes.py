"""Sandbox backends for tests; what cannot run here skips the test and says why."""

import pytest

from rewardsmith.errors import RewardsmithError
from rewardsmith.services.sandbox.factory import BACKENDS


def open_backend(name):
    """Return a backend; the caller closes it."""
    try:
        return BACKENDS[name]()
    except RewardsmithError as error:
        pytest.skip(f"the sandbox {name} cannot run here: {error}")
