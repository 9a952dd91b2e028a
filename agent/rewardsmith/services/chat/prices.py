"""What a call costs, by the price list that LiteLLM ships; unknown prices stay unknown."""

import importlib.util
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewardsmith.services.chat.base import TokenUsage

_PRICE_LIST = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for each token.

    Attributes:
        prompt: of the prompt.
        cached: of a prompt token that came from the provider's cache.
        completion: of the answer.
    """

    prompt: float
    cached: float
    completion: float

    def cost_usd(self, usage: TokenUsage) -> float | None:
        """Return what a call cost, or None where the server did not say what it used."""
        if usage.prompt is None or usage.completion is None:
            return None
        cached = min(usage.cached or 0, usage.prompt)
        return (
            (usage.prompt - cached) * self.prompt + cached * self.cached + usage.completion * self.completion
        )


def price_of(model: str) -> Price | None:
    """Return the list price of a model by LiteLLM's name, or None where the list does not have it."""
    rows = _price_list()
    provider, _, bare = model.partition("/")
    row = rows.get(model)
    if row is None and bare and _is_of(provider, rows.get(bare)):
        # The list names the models of some providers without them.
        row = rows[bare]
    if not isinstance(row, dict):
        return None
    prompt, completion = _price(row, "input_cost_per_token"), _price(row, "output_cost_per_token")
    if prompt is None or completion is None:
        return None
    cached = _price(row, "cache_read_input_token_cost")
    return Price(prompt=prompt, cached=prompt if cached is None else cached, completion=completion)


def _is_of(provider: str, row: Any) -> bool:
    return isinstance(row, dict) and row.get("litellm_provider", provider) == provider


@lru_cache(maxsize=1)
def _price_list() -> dict[str, Any]:
    """Read the list from LiteLLM's folder, which takes milliseconds; importing it would take seconds."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        return {}
    try:
        rows = json.loads((Path(spec.origin).parent / _PRICE_LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return rows if isinstance(rows, dict) else {}


def _price(row: dict[str, Any], name: str) -> float | None:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return float(value)
