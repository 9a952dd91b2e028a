"""Models of every other provider, by LiteLLM."""

import importlib.util
import inspect
import logging
import os
from dataclasses import replace
from types import ModuleType
from typing import Any

from rewardsmith.errors import MissingExtraError, ModelError
from rewardsmith.services.chat.base import CallError, ChatReply, ChatRequest
from rewardsmith.services.chat.faults import call_error
from rewardsmith.services.chat.wire import read_reply, request_fields

_HAVE_DEFAULTS = ("OLLAMA_API_BASE",)
"""What LiteLLM calls missing and does without."""
_NO_KEY = "none"
"""Sent to a server of one's own: without any, LiteLLM would send OPENAI_API_KEY to many of them."""
_SIGNED = ("bedrock", "sagemaker", "vertex_ai")
"""Providers whose requests are signed, and that a key would confuse."""
_CACHED_BY_MARKS = ("anthropic", "bedrock", "vertex_ai")
"""Providers whose prompt cache holds only what is marked; the others cache prefixes by themselves."""


def load_litellm() -> ModuleType:
    """Import LiteLLM without its fetching of prices, its reading of files and its chatter.

    Raises:
        MissingExtraError: it is not installed.
    """
    if importlib.util.find_spec("litellm") is None:
        raise MissingExtraError("this model needs LiteLLM: pip install 'rewardsmith[litellm]'")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Otherwise it reads a .env file beside the virtual environment into this process's.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    _silence()
    import litellm

    _silence()
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    module: ModuleType = litellm
    return module


def _silence() -> None:
    """Turn LiteLLM's loggers off, which write to stdout: before its import, and what that turned on again."""
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def provider_of(model: str) -> str:
    """Return LiteLLM's name of the provider.

    Raises:
        ModelError: LiteLLM does not know one.
        MissingExtraError: it is not installed.
    """
    litellm = load_litellm()
    try:
        _, provider, _, _ = litellm.get_llm_provider(model)
    except Exception:
        raise ModelError(
            f"no provider is known for the model {model!r}; write PROVIDER/NAME, such as anthropic/NAME, "
            "or openai/NAME with --base-url for a server of your own"
        ) from None
    return str(provider)


def missing_keys(model: str) -> list[str]:
    """Return the environment variables that the model's provider needs and that are not set."""
    found = load_litellm().validate_environment(model)
    missing = [] if found.get("keys_in_environment") else found.get("missing_keys", ())
    return [str(name) for name in missing if name not in _HAVE_DEFAULTS]


class LiteLLMClient:
    """One model, by LiteLLM with its own retries off.

    Args:
        model: LiteLLM's name, `PROVIDER/NAME`.
        base_url: where its server listens, or None for the provider's own.
        api_key: None leaves the choice of the environment variable to LiteLLM, but for a server of one's
            own, which is sent none.
        timeout_s: of one attempt.
        parameters: further arguments of every call.

    Raises:
        MissingExtraError: LiteLLM is not installed.
        ModelError: it knows no such provider.
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
        self._litellm = load_litellm()
        self._model = model
        provider = provider_of(model)
        if base_url is not None and api_key is None and provider not in _SIGNED:
            api_key = _NO_KEY
        fixed = {"base_url": base_url, "api_key": api_key}
        self._settings: dict[str, Any] = {
            **{name: value for name, value in fixed.items() if value is not None},
            **parameters,
            "timeout": timeout_s,
            "max_retries": 0,
            "num_retries": 0,
        }
        if provider in _CACHED_BY_MARKS:
            marks = [{"location": "message", "role": "system"}, {"location": "message", "index": 1}]
            self._settings["cache_control_injection_points"] = marks

    async def complete(self, request: ChatRequest, quirks: frozenset[str]) -> ChatReply:
        """Ask once; see `ChatClient`."""
        fields = request_fields(request, quirks, modern=False)
        try:
            # Merged, since the parameters may hold one of the fields.
            arguments = {"model": self._model, **fields, **self._settings}
            answer = await self._litellm.acompletion(**arguments)
            body = answer.model_dump()
        except CallError:
            raise
        except Exception as error:
            # Whatever it raises: LiteLLM lets through what its many providers' code stumbles over.
            raise call_error(error) from error
        return replace(read_reply(body), usd=self._cost_usd(answer))

    def _cost_usd(self, answer: Any) -> float | None:
        if "base_url" in self._settings:
            return None
        try:
            cost = self._litellm.completion_cost(completion_response=answer, model=self._model)
        except Exception:
            # It raises for every model that its price list does not have.
            return None
        return float(cost) if isinstance(cost, int | float) and cost > 0 else None

    async def close(self) -> None:
        """Close the connections that LiteLLM keeps for this event loop; those of others may be in use."""
        cache = self._litellm.in_memory_llm_clients_cache
        mark = cache.update_cache_key_with_event_loop("")
        mine = [cache.cache_dict.pop(key) for key in list(cache.cache_dict) if str(key).endswith(mark)]
        for client in mine:
            closing = client.close()
            if inspect.isawaitable(closing):
                await closing
