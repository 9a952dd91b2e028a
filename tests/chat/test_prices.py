"""What a call costs by the list that LiteLLM ships."""

import json

import pytest
from chat_calls import REQUEST, ask

from chat_server import ChatServer, Reply
from rewardsmith.config import ModelConfig
from rewardsmith.services.chat import prices
from rewardsmith.services.chat.base import TokenUsage
from rewardsmith.services.chat.caller import Caller
from rewardsmith.services.chat.names import price
from rewardsmith.services.chat.openai_client import OpenAIClient
from rewardsmith.services.chat.prices import Price, price_of

TENTH = Price(prompt=0.1, cached=0.01, completion=1.0)
ROWS = {
    "plain": {"input_cost_per_token": 0.5, "output_cost_per_token": 2},
    "acme/cached": {
        "input_cost_per_token": 0.5,
        "output_cost_per_token": 2,
        "cache_read_input_token_cost": 0.0,
    },
    "half": {"input_cost_per_token": 0.5},
    "odd": {"input_cost_per_token": "0.5", "output_cost_per_token": True},
    "negative": {"input_cost_per_token": -1, "output_cost_per_token": 1},
    "text": "free of charge",
}


@pytest.fixture
def price_list(monkeypatch):
    monkeypatch.setattr(prices, "_price_list", lambda: ROWS)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (TokenUsage(prompt=10, completion=2), 3.0),
        (TokenUsage(prompt=10, completion=2, cached=4), 0.6 + 0.04 + 2.0),
        (TokenUsage(prompt=10, completion=0, cached=99), 0.1),
        (TokenUsage(prompt=10), None),
        (TokenUsage(completion=2), None),
        (TokenUsage(), None),
    ],
)
def test_a_call_costs_what_its_tokens_cost(usage, usd):
    assert TENTH.cost_usd(usage) == (None if usd is None else pytest.approx(usd))


def test_the_list_that_is_installed_has_a_price_for_a_known_model():
    found = price_of("openai/gpt-4o-mini")
    assert found is not None
    assert 0 < found.cached < found.prompt < found.completion < 1e-3


@pytest.mark.usefixtures("price_list")
def test_a_price_is_found_with_or_without_openais_prefix():
    assert price_of("openai/plain") == price_of("plain") == Price(prompt=0.5, cached=0.5, completion=2.0)
    assert price_of("acme/cached") == Price(prompt=0.5, cached=0.0, completion=2.0)
    assert price_of("cached") is None


@pytest.mark.usefixtures("price_list")
@pytest.mark.parametrize("name", ["half", "odd", "negative", "text", "absent"])
def test_a_price_that_is_not_whole_is_unknown(name):
    assert price_of(name) is None


@pytest.mark.parametrize("content", [None, b"\xff{", b"[]"])
def test_without_a_list_prices_are_unknown(content, monkeypatch, tmp_path):
    (tmp_path / "__init__.py").touch()
    if content is not None:
        (tmp_path / prices._PRICE_LIST).write_bytes(content)
    spec = type("Spec", (), {"origin": str(tmp_path / "__init__.py")})
    monkeypatch.setattr(prices.importlib.util, "find_spec", lambda name: spec)
    prices._price_list.cache_clear()
    try:
        assert price_of("gpt-4o-mini") is None
    finally:
        prices._price_list.cache_clear()


@pytest.mark.usefixtures("price_list")
def test_a_server_of_ones_own_may_carry_any_name_and_has_no_price():
    assert price(ModelConfig(name="openai/plain")) is not None
    assert price(ModelConfig(name="openai/plain", base_url="http://localhost:1/v1")) is None


def test_the_price_that_a_server_tells_counts_more_than_the_list():
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    for told, usd in (({}, 3.0), ({"cost": 0.5}, 0.5)):
        with ChatServer(lambda body, told=told: Reply("hello", usage=usage | told)) as server:
            config = ModelConfig(name="openai/m", base_url=server.base_url)
            client = OpenAIClient(
                "m", base_url=server.base_url, api_key=None, timeout_s=5.0, parameters=config.parameters
            )
            caller = Caller(client, config, TENTH)
            try:
                assert caller.ask("key", REQUEST).usd == pytest.approx(usd)
            finally:
                caller.close()


def test_without_a_price_what_a_call_costs_is_unknown():
    with ChatServer(lambda body: json.dumps({})) as server:
        assert ask(server).usd is None


def test_the_price_of_a_model_that_the_list_names_without_its_provider_is_found(monkeypatch):
    row = {"input_cost_per_token": 1.0, "output_cost_per_token": 2.0, "litellm_provider": "anthropic"}
    monkeypatch.setattr(prices, "_price_list", lambda: {"claude": row})
    assert prices.price_of("anthropic/claude") is not None
    assert prices.price_of("openai/claude") is None
