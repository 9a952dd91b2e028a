import os
import re

import pytest

import chat_server

_OTHERS = re.compile(r"_(API_KEY|BASE_URL|API_BASE)$|^OPENAI_")


@pytest.fixture(autouse=True)
def no_keys_of_yours(monkeypatch):
    """Whoever runs these tests may have keys and addresses in the environment."""
    for name in list(os.environ):
        if _OTHERS.search(name):
            monkeypatch.delenv(name)


@pytest.fixture
def fault(monkeypatch):
    """A factory of faults of one's own: `fault(respond) -> name`, with `respond` as in the server."""

    def add(respond, name="of_its_own"):
        monkeypatch.setitem(chat_server.FAULTS, name, respond)
        return name

    return add
