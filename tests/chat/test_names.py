"""From a model's name to its client, its key and its address."""

from dataclasses import replace

import pytest
from chat_calls import CLIENTS, KEY, LITELLM, REQUEST, SDK, ask
from recorded_runs import outcome_of, recorded_run

from chat_server import ChatServer
from rewardsmith.config import ModelConfig
from rewardsmith.errors import ConfigError, ModelError, RunFolderError
from rewardsmith.services.chat import names
from rewardsmith.services.chat.litellm_client import LiteLLMClient
from rewardsmith.services.chat.names import check_access, choose_models, open_answerer, resolve_model
from rewardsmith.services.chat.openai_client import OPENAI_URL, OpenAIClient
from rewardsmith.services.chat.record import Recording

pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly:UserWarning")

URL = "http://localhost:8000/v1"
BUILTIN = ModelConfig()
MODEL = ModelConfig(name="openai/m")


@pytest.fixture
def hello():
    with ChatServer(lambda body: "hello") as server:
        yield server


def client_of(**config):
    return names._client(ModelConfig(**config))


@pytest.mark.parametrize(
    ("config", "kind", "called"),
    [
        ({"name": "openai/m"}, OpenAIClient, "m"),
        ({"name": "openai/m", "base_url": URL}, OpenAIClient, "m"),
        ({"name": "openai/org/m", "base_url": URL}, OpenAIClient, "org/m"),
        ({"name": "m", "base_url": URL}, OpenAIClient, "m"),
        ({"name": "hosted_vllm/m", "base_url": URL}, LiteLLMClient, "hosted_vllm/m"),
        ({"name": "anthropic/m"}, LiteLLMClient, "anthropic/m"),
    ],
)
def test_a_name_gets_its_client(config, kind, called):
    client = client_of(**config)
    assert type(client) is kind
    assert client._model == called


def test_openai_is_at_its_own_address():
    assert str(client_of(name="openai/m")._client.base_url).rstrip("/") == OPENAI_URL


@pytest.mark.parametrize("name", ["", " openai/m", "openai/m\n", "openai/", "anthropic/"])
def test_what_is_no_name_is_refused(name, tmp_path):
    with pytest.raises(ConfigError, match="is not a model's name"):
        resolve_model(ModelConfig(name=name), tmp_path)


def test_a_provider_that_no_one_knows_is_named_with_the_remedy(capfd):
    with pytest.raises(
        ModelError, match=r"no provider is known for the model 'nobody/m'; write PROVIDER/NAME"
    ):
        check_access(ModelConfig(name="nobody/m"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/m", "OPENAI_API_KEY"),
        ("gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/m", "ANTHROPIC_API_KEY"),
        ("mistral/m", "MISTRAL_API_KEY"),
    ],
)
def test_a_missing_key_names_its_variable(name, variable, monkeypatch):
    with pytest.raises(ModelError, match=rf"{name} needs a key: set {variable} in the environment"):
        check_access(ModelConfig(name=name))
    monkeypatch.setenv(variable, KEY)
    check_access(ModelConfig(name=name))


def test_a_variable_that_was_named_must_be_set(monkeypatch):
    config = ModelConfig(name="openai/m", base_url=URL, api_key_env="LLM_DOOR")
    with pytest.raises(ModelError, match="the variable LLM_DOOR is not set"):
        check_access(config)
    monkeypatch.setenv("LLM_DOOR", KEY)
    check_access(config)


@pytest.mark.parametrize("name", ["builtin", "ollama/m", "replay:run"])
def test_no_key_is_asked_for_where_none_is_needed(name):
    check_access(ModelConfig(name=name))


@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_of_ones_own_needs_no_key(name):
    check_access(ModelConfig(name=name, base_url=URL))


@pytest.mark.parametrize(
    "key", [f"{KEY}\n", f"{KEY}\r\nX-Other: 1", f" {KEY}", "zx-4f8é", "zx\x00abcdef", " "]
)
@pytest.mark.parametrize(
    ("config", "variable"),
    [
        ({"name": "openai/m"}, "OPENAI_API_KEY"),
        ({"name": "anthropic/m"}, "ANTHROPIC_API_KEY"),
        ({"name": "openai/m", "base_url": URL, "api_key_env": "LLM_DOOR"}, "LLM_DOOR"),
        ({"name": "hosted_vllm/m", "base_url": URL, "api_key_env": "LLM_DOOR"}, "LLM_DOOR"),
    ],
)
def test_what_cannot_be_a_key_is_refused_without_being_shown(key, config, variable, monkeypatch):
    if "\x00" in key:
        # No environment can hold it, but it may be put there all the same.
        monkeypatch.setattr(names.os, "environ", {**names.os.environ, variable: key})
    else:
        monkeypatch.setenv(variable, key)
    with pytest.raises(ModelError, match=f"the value of {variable} is not a key") as raised:
        check_access(ModelConfig(**config))
    assert "zx" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "not an address",
        "",
        "/v1",
        "http://",
        "http:///v1",
        "ftp://localhost/v1",
        "http://localhost:99999/v1",
        "http://localhost:port/v1",
        "http://[::1/v1",
        "http://local host/v1",
        "http://localhost/v1\n",
    ],
)
def test_what_is_no_address_is_refused(url, tmp_path):
    with pytest.raises(ConfigError, match=r"--base-url .*not an address such as") as raised:
        resolve_model(ModelConfig(name="m", base_url=url), tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter22@localhost/v1",
        "http://hunter22@localhost/v1",
        "http://me:hunter/22@localhost/v1",
        "htp://me:hunter22@localhost/v1",
        "me:hunter22@localhost",
        "http://localhost/v1?key=hunter22",
    ],
)
def test_an_address_with_a_password_is_refused_without_being_shown(url, tmp_path):
    with pytest.raises(ConfigError, match="it must not hold a password") as raised:
        resolve_model(ModelConfig(name="m", base_url=url), tmp_path)
    assert "hunter" not in str(raised.value)


@pytest.mark.parametrize(
    "url", [URL, "https://a.example", "http://[::1]:80/v1", "http://h/v1/@cf/x", "HTTP://h/"]
)
def test_an_address_stays_as_it_is(url, tmp_path):
    config = ModelConfig(name="m", base_url=url)
    assert resolve_model(config, tmp_path) == config


def test_openais_variable_for_the_address_counts_and_is_recorded(monkeypatch, tmp_path, hello):
    monkeypatch.setenv("OPENAI_BASE_URL", hello.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    config = resolve_model(MODEL, tmp_path)
    assert (config.base_url, config.api_key_env) == (hello.base_url, "OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    caller = open_answerer(config)
    try:
        assert caller.ask("key", REQUEST).reply.text == "hello"
    finally:
        caller.close()
    assert hello.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_openais_variable_for_the_address_is_checked_too(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hunter22@localhost/v1")
    with pytest.raises(ConfigError, match=r"^OPENAI_BASE_URL: it must not hold a password"):
        resolve_model(MODEL, tmp_path)


@pytest.mark.parametrize("config", [{"name": "anthropic/m"}, {"name": "openai/m", "base_url": URL}])
def test_openais_variable_for_the_address_is_for_openai_alone(config, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert resolve_model(ModelConfig(**config), tmp_path) == ModelConfig(**config)


@pytest.mark.parametrize(
    "name", [*CLIENTS, "litellm_proxy/m", "custom_openai/m", "perplexity/m", "mistral/m"]
)
def test_no_key_goes_to_a_server_of_ones_own_unasked(name, monkeypatch, hello):
    for variable in ("OPENAI_API_KEY", "MISTRAL_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(variable, KEY)
    assert ask(hello, name).reply.text == "hello"
    assert KEY not in str(hello.requests[0].headers)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_key_that_was_asked_for_goes_there(name, monkeypatch, hello):
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    monkeypatch.setenv("LLM_DOOR", KEY)
    ask(hello, name, api_key_env="LLM_DOOR")
    assert hello.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("name", ["builtin", "replay:run"])
@pytest.mark.parametrize(
    ("options", "named"), [({"base_url": URL}, "--base-url"), ({"api_key_env": "LLM_DOOR"}, "--api-key-env")]
)
def test_options_of_a_language_model_are_of_no_use_with(name, options, named, tmp_path):
    with pytest.raises(ConfigError, match=f"^{named}: of no use with the model {name}$"):
        resolve_model(ModelConfig(name=name, **options), tmp_path)


def test_a_recording_is_found_by_its_runs_name(tmp_path):
    folder = recorded_run(tmp_path, {"i01/c00/propose": outcome_of("hello")}, name="an-old-run")
    config = resolve_model(ModelConfig(name="replay:an-old"), tmp_path)
    assert (config.name, config.recording) == ("replay:an-old-run", str(folder.path.resolve()))
    assert isinstance(open_answerer(config), Recording)


def test_a_run_without_model_calls_cannot_be_replayed(tmp_path):
    recorded_run(tmp_path, {})
    with pytest.raises(ConfigError, match="no language model was called in the run recorded"):
        resolve_model(ModelConfig(name="replay:recorded"), tmp_path)


@pytest.mark.parametrize("name", ["replay:", "replay:absent"])
def test_a_run_that_is_not_there_cannot_be_replayed(name, tmp_path):
    with pytest.raises(RunFolderError, match="no run"):
        resolve_model(ModelConfig(name=name), tmp_path)


def choose(root, coder, evaluator=None, *, wants_critique=True):
    return choose_models(coder, evaluator, wants_critique=wants_critique, root=root)


def test_the_model_that_writes_criticises_as_well(tmp_path):
    assert choose(tmp_path, MODEL) == (MODEL, MODEL)


def test_another_model_may_criticise(tmp_path):
    other = ModelConfig(name=LITELLM, base_url=URL)
    assert choose(tmp_path, MODEL, other) == (MODEL, other)


def test_no_one_criticises_where_nothing_is_written_by_a_model(tmp_path):
    assert choose(tmp_path, BUILTIN) == (BUILTIN, None)


def test_no_one_criticises_where_the_method_has_no_use_for_it(tmp_path):
    assert choose(tmp_path, MODEL, wants_critique=False) == (MODEL, None)


@pytest.mark.parametrize(
    ("coder", "evaluator", "wants_critique", "message"),
    [
        (BUILTIN, MODEL, True, "the model builtin reads no critique"),
        (MODEL, MODEL, False, "the method asks for no critique"),
        (MODEL, BUILTIN, True, "builtin criticises nothing"),
        (MODEL, MODEL.model_copy(update={"base_url": "nowhere"}), True, "not an address"),
    ],
)
def test_two_models_that_do_not_go_together_are_refused(coder, evaluator, wants_critique, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        choose(tmp_path, coder, evaluator, wants_critique=wants_critique)


@pytest.mark.parametrize(
    ("key", "has_critic"), [("rubric", True), ("i01/critique", True), ("i01/c00/propose", False)]
)
def test_a_recording_criticises_where_it_did(key, has_critic, tmp_path):
    recorded_run(tmp_path, {key: outcome_of("hello")})
    coder, evaluator = choose(tmp_path, ModelConfig(name="replay:recorded"))
    assert evaluator == (coder if has_critic else None)


def test_either_client_sends_the_same(hello):
    images = replace(REQUEST.messages[1], images=(b"\x89PNG",))
    whole = replace(
        REQUEST, messages=(REQUEST.messages[0], images), schema={"type": "object"}, temperature=0.5
    )
    for name in (SDK, LITELLM):
        ask(hello, name, whole)
    first, second = (received.body for received in hello.requests)
    assert first == second
    assert first["model"] == "m"


@pytest.mark.parametrize("name", ["hosted_vllm/m", "lm_studio/m", "litellm_proxy/m"])
def test_a_server_of_ones_own_needs_an_address(name, monkeypatch):
    monkeypatch.delenv(f"{name.split('/')[0].upper()}_API_BASE", raising=False)
    with pytest.raises(ModelError, match="--evaluator-base-url URL"):
        check_access(ModelConfig(name=name), prefix="--evaluator-")
