"""Models behind OpenAI's API, and behind the many servers that speak it: vLLM, Ollama, llama.cpp."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rewardsmith.errors import MissingExtraError
from rewardsmith.services.chat.base import CallError, CallFault, ChatReply, ChatRequest
from rewardsmith.services.chat.faults import call_error
from rewardsmith.services.chat.wire import read_reply, request_fields

OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"
"""Sent where a server needs no key: the SDK wants one."""


_SDK_VARIABLES = ("OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""What the SDK reads by itself and sends along; it is for OpenAI, not for a server of one's own."""


@contextmanager
def _hidden(names: Iterable[str]) -> Iterator[None]:
    """Take variables out of the environment while the block runs."""
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


class OpenAIClient:
    """One model, by the openai SDK with its own retries off.

    Args:
        model: the server's name for it.
        base_url: where the server listens; None is OpenAI.
        api_key: None where the server needs none.
        timeout_s: of one attempt.
        parameters: further fields of every request.

    Raises:
        MissingExtraError: the SDK is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None,
        api_key: str | None,
        timeout_s: float,
        parameters: dict[str, Any],
    ) -> None:
        try:
            import openai
        except ImportError:
            raise MissingExtraError(
                "models behind an OpenAI-compatible API need: pip install 'rewardsmith[openai]'"
            ) from None
        self._model = model
        self._parameters = parameters
        self._modern = base_url is None
        self._errors: type[Exception] = openai.OpenAIError
        with _hidden(_SDK_VARIABLES if base_url is not None else ()):
            self._client = openai.AsyncOpenAI(
                base_url=base_url or OPENAI_URL, api_key=api_key or _NO_KEY, timeout=timeout_s, max_retries=0
            )

    async def complete(self, request: ChatRequest, quirks: frozenset[str]) -> ChatReply:
        """Ask once; see `ChatClient`."""
        fields = request_fields(request, quirks, modern=self._modern)
        try:
            # The body itself, since the SDK would read garbage into an object with its fields missing.
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._model, **fields, extra_body=self._parameters or None
            )
            body = json.loads(raw.content)
        except (ValueError, RecursionError) as error:
            raise CallError(CallFault.MALFORMED, f"the answer is not JSON ({error})") from error
        except self._errors as error:
            raise call_error(error) from error
        return read_reply(body)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()
