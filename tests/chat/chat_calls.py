"""Calls to a loopback server as the tests make them."""

from contextlib import contextmanager

from rewardsmith.config import ModelConfig
from rewardsmith.services.chat.base import ChatMessage, ChatRequest
from rewardsmith.services.chat.names import open_answerer

SDK, LITELLM = "openai/m", "hosted_vllm/m"
CLIENTS = (SDK, LITELLM)
KEY = "zx-4f8e2c6b9a7d1e3f"
"""Has no form that a pattern could know it by."""

SYSTEM = ChatMessage(role="system", text="You write rewards.")
QUESTION = ChatMessage(role="user", text="Write one.")
REQUEST = ChatRequest(messages=(SYSTEM, QUESTION))


def conversation(n_turns):
    """A request with so many earlier answers in it, each followed by a question."""
    turns = [
        ChatMessage(role=role, text=f"{what} {i}")
        for i in range(n_turns)
        for role, what in (("assistant", "answer"), ("user", "question"))
    ]
    return ChatRequest(messages=(SYSTEM, QUESTION, *turns))


def model_of(server, name=SDK, **changes):
    settings = {"attempts": 2, "backoff_s": 0.0, "timeout_s": 5.0, "base_url": server.base_url} | changes
    return ModelConfig(name=name, **settings)


@contextmanager
def opened(server, name=SDK, **changes):
    caller = open_answerer(model_of(server, name, **changes))
    try:
        yield caller
    finally:
        caller.close()


def ask(server, name=SDK, request=REQUEST, **changes):
    """What a single call comes to."""
    with opened(server, name, **changes) as caller:
        return caller.ask("key", request)


def is_one_line(message):
    return (
        "\n" not in message and 0 < len(message) < 600 and "Traceback" not in message and ".py" not in message
    )
