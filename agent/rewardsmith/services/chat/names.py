"""From a model's name to a way to it: which client, which key, what price."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from rewardsmith.config import ModelConfig
from rewardsmith.errors import ConfigError, ModelError
from rewardsmith.services.chat.base import ChatClient
from rewardsmith.services.chat.caller import Answerer, Caller
from rewardsmith.services.chat.prices import Price, price_of
from rewardsmith.services.chat.record import Recording
from rewardsmith.services.journal.folder import find_run

BUILTIN = "builtin"
REPLAY_PREFIX = "replay:"
OPENAI_PREFIX = "openai/"
OPENAI_KEY = "OPENAI_API_KEY"
OPENAI_URL_VARIABLE = "OPENAI_BASE_URL"
_OWN_SERVERS = frozenset(
    {
        "hosted_vllm",
        "lm_studio",
        "litellm_proxy",
        "custom_openai",
        "openai_like",
        "xinference",
        "docker_model_runner",
    }
)
"""LiteLLM's providers that stand for a server of one's own, wherever it is."""


def is_language_model(name: str) -> bool:
    """Return whether answers come from a model that is called over a network."""
    return name != BUILTIN and not name.startswith(REPLAY_PREFIX)


def resolve_model(config: ModelConfig, root: Path) -> ModelConfig:
    """Return the configuration with what the environment adds to it.

    Args:
        config: as it was asked for.
        root: where recorded runs are found by name.

    Raises:
        ConfigError: an option does not go with the model, or an address is not one.
        RunFolderError: there is no run to replay.
    """
    if not config.name or config.name.strip() != config.name or config.name.endswith("/"):
        raise ConfigError(f"{config.name!r} is not a model's name")
    if not is_language_model(config.name):
        given = [f"--{key.replace('_', '-')}" for key in ("base_url", "api_key_env") if getattr(config, key)]
        if given:
            raise ConfigError(f"{' and '.join(given)}: of no use with the model {config.name}")
        if config.name == BUILTIN:
            return config
        run = find_run(root, config.name.removeprefix(REPLAY_PREFIX)).resolve()
        Recording(run)
        return config.model_copy(update={"name": REPLAY_PREFIX + run.name, "recording": str(run)})
    origin = "--base-url"
    if config.base_url is None and config.name.startswith(OPENAI_PREFIX):
        own = os.environ.get(OPENAI_URL_VARIABLE)
        if own:
            key_env = config.api_key_env or (OPENAI_KEY if os.environ.get(OPENAI_KEY) else None)
            config = config.model_copy(update={"base_url": own, "api_key_env": key_env})
            origin = OPENAI_URL_VARIABLE
    if config.base_url is not None:
        _check_url(config.base_url, origin)
    return config


def choose_models(
    coder: ModelConfig, evaluator: ModelConfig | None, *, wants_critique: bool, root: Path
) -> tuple[ModelConfig, ModelConfig | None]:
    """Return who writes and who criticises: where nothing else is said, the model that writes does both.

    Args:
        coder: as it was asked for.
        evaluator: as it was asked for, or None.
        wants_critique: whether the method has a use for critiques.
        root: where recorded runs are found by name.

    Raises:
        ConfigError: the two do not go together, or one of them is wrong.
    """
    coder = resolve_model(coder, root)
    if evaluator is not None:
        if coder.name == BUILTIN:
            raise ConfigError("--evaluator-model: the model builtin reads no critique")
        if not wants_critique:
            raise ConfigError(
                "--evaluator-model: the method asks for no critique (feedback.critique is false)"
            )
        if evaluator.name == BUILTIN:
            raise ConfigError("--evaluator-model builtin: builtin criticises nothing; use a language model")
        return coder, resolve_model(evaluator, root)
    if coder.name == BUILTIN or not wants_critique:
        return coder, None
    if coder.recording is not None and not Recording(Path(coder.recording)).has_critic:
        return coder, None
    return coder, coder


def check_access(config: ModelConfig, *, prefix: str = "--") -> None:
    """Check, before anything starts, that the client is installed and the key is set.

    Args:
        config: the model.
        prefix: of the options that it was asked for with, such as `--evaluator-`.

    Raises:
        ModelError: a key or an address is missing; the message names its variable.
        MissingExtraError: the client is not installed.
    """
    if not is_language_model(config.name):
        return
    if config.api_key_env is not None:
        if not os.environ.get(config.api_key_env):
            raise ModelError(
                f"the variable {config.api_key_env} is not set; it must hold the key for {config.name}"
            )
    elif config.base_url is None:
        _check_has_address(config.name, prefix)
        missing = _missing_keys(config.name)
        if missing:
            raise ModelError(
                f"{config.name} needs a key: set {_listed(missing)} in the environment "
                f"(or name another variable with {prefix}api-key-env)"
            )
    _check_keys_form(config)
    open_answerer(config).close()


def open_answerer(config: ModelConfig) -> Answerer:
    """Return what answers calls to the model; no connection is made yet.

    Raises:
        MissingExtraError: the client is not installed.
        ModelError: no provider is known for the name.
        RunFolderError: a recorded run is gone or damaged.
    """
    if config.recording is not None:
        return Recording(Path(config.recording))
    return Caller(_client(config), config, price(config))


def price(config: ModelConfig) -> Price | None:
    """Return the price of the model's tokens, or None where it is not known."""
    # A server of one's own may carry any name and cost anything.
    return None if config.base_url is not None else price_of(config.name)


def _client(config: ModelConfig) -> ChatClient:
    key = os.environ.get(config.api_key_env) if config.api_key_env else None
    if _uses_openai_sdk(config):
        from rewardsmith.services.chat.openai_client import OpenAIClient

        if config.base_url is None and key is None:
            key = os.environ.get(OPENAI_KEY)
        return OpenAIClient(
            config.name.removeprefix(OPENAI_PREFIX),
            base_url=config.base_url,
            api_key=key,
            timeout_s=config.timeout_s,
            parameters=config.parameters,
        )
    from rewardsmith.services.chat.litellm_client import LiteLLMClient

    return LiteLLMClient(
        config.name,
        base_url=config.base_url,
        api_key=key,
        timeout_s=config.timeout_s,
        parameters=config.parameters,
    )


def _uses_openai_sdk(config: ModelConfig) -> bool:
    """OpenAI itself, and whatever stands behind an address without a provider in its name."""
    return config.name.startswith(OPENAI_PREFIX) or (config.base_url is not None and "/" not in config.name)


def _check_keys_form(config: ModelConfig) -> None:
    """A key with a line break would look like a lost connection, and be told to the world."""
    variable = config.api_key_env or _usual_variable(config)
    key = os.environ.get(variable, "") if variable else ""
    if not key.isascii() or not key.isprintable() or key.strip() != key:
        raise ModelError(
            f"the value of {variable} is not a key: it holds a line break, a blank or other characters"
        )


def _usual_variable(config: ModelConfig) -> str | None:
    """Return the variable from which a key is taken where none is named."""
    provider, slash, _ = config.name.partition("/")
    return f"{provider.upper()}_API_KEY" if slash and config.base_url is None else None


def _check_has_address(name: str, prefix: str) -> None:
    """LiteLLM would ask OpenAI where a server of one's own has no address."""
    provider = name.partition("/")[0]
    if provider in _OWN_SERVERS and not os.environ.get(f"{provider.upper()}_API_BASE"):
        raise ModelError(f"{name} is on a server of your own: say where it listens with {prefix}base-url URL")


def _listed(variables: Sequence[str]) -> str:
    """Return the variables in words: several keys of one provider are other names for the same."""
    is_choice = all(name.endswith("_API_KEY") for name in variables)
    return (" or " if is_choice else " and ").join(variables)


def _missing_keys(name: str) -> list[str]:
    if name.startswith(OPENAI_PREFIX):
        return [] if os.environ.get(OPENAI_KEY) else [OPENAI_KEY]
    from rewardsmith.services.chat.litellm_client import missing_keys, provider_of

    provider_of(name)
    return missing_keys(name)


def _check_url(url: str, origin: str) -> None:
    """Refuse what is no address, and what holds more than one, since it is recorded as it is."""
    try:
        parts = urlsplit(url)
        # Reading the port checks it.
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_bare = "@" not in parts.netloc and not parts.query
    except ValueError:
        is_url = is_bare = False
    if is_url and is_bare and url.isprintable() and " " not in url:
        return
    if "@" in url or "?" in url:
        raise ConfigError(
            f"{origin}: it must not hold a password or a query; name a variable with --api-key-env instead"
        )
    raise ConfigError(f"{origin} {url!r}: not an address such as http://localhost:8000/v1")
