"""What the environment holds in secret."""

import pytest
from chat_calls import KEY

from rewardsmith.services.chat.secrets import redact


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "API_KEY", "HF_TOKEN", "DB_PASSWORD", "MYSQL_PASSWD", "CLIENT_SECRET", "MY_APIKEY_2"],
)
def test_values_of_variables_that_are_named_like_secrets_are_replaced(name, monkeypatch):
    monkeypatch.setenv(name, KEY)
    assert redact(f"sent {KEY}, twice {KEY}") == f"sent [{name}], twice [{name}]"


@pytest.mark.parametrize("name", ["HOME_DIR", "KEYBOARD", "TOKENIZERS", "GIT_AUTHOR", "COMPASS"])
def test_values_of_other_variables_stay(name, monkeypatch):
    monkeypatch.setenv(name, KEY)
    assert redact(KEY) == KEY


def test_a_variable_with_an_innocent_name_is_a_secret_where_it_is_named(monkeypatch):
    monkeypatch.setenv("LLM_DOOR", KEY)
    assert redact(KEY) == KEY
    assert redact(KEY, ["LLM_DOOR"]) == "[LLM_DOOR]"


@pytest.mark.parametrize("value", ["", "local", "EMPTY", "1234"])
def test_a_short_value_does_not_blank_out_code(value, monkeypatch):
    monkeypatch.setenv("LLM_DOOR", value)
    monkeypatch.setenv("SOME_API_KEY", value)
    code = "local = 1234  # EMPTY"
    assert redact(code, ["LLM_DOOR"]) == code


def test_a_key_that_begins_with_another_leaves_no_rest(monkeypatch):
    monkeypatch.setenv("A_KEY", KEY[:10])
    monkeypatch.setenv("B_KEY", KEY)
    assert redact(KEY) == "[B_KEY]"


@pytest.mark.parametrize(
    "shown",
    [
        "sk-abc***xyz",
        "sk-abcdefgh",
        "sk-proj-abc_DEF-123",
        "sk-proj-********************abcd",
        "zx-4f8e2************1e3f",
        "Bearer abcdefgh.ijk+l/m=",
        "bearer  zx-4f8e2c6b",
    ],
)
def test_what_looks_like_a_key_is_replaced_though_no_variable_holds_it(shown):
    assert redact(f"Incorrect key: {shown}, sorry") == "Incorrect key: [key], sorry"


@pytest.mark.parametrize(
    "code",
    [
        "rise = 2.0 * np.square(state.angle)**2",
        "# ---- **bold** ---- ask-me task-based risk-averse",
        "still = -0.1 * speed**2 * np.exp(-(x**2))",
        "bearing = forbearance(bearer)",
    ],
)
def test_code_stays_as_it_is(code):
    assert redact(code) == code


@pytest.mark.parametrize(
    "name",
    [
        "PGPASSWORD",
        "GITHUB_PAT",
        "MYSQL_PWD",
        "SSHPASS",
        "NPM_CONFIG__AUTHTOKEN",
        "GITHUB_OAUTH",
        "SENTRY_DSN",
    ],
)
def test_other_usual_names_of_secrets_are_known(name, monkeypatch):
    monkeypatch.setenv(name, "a-secret-value-1")
    assert redact("x a-secret-value-1 y") == f"x [{name}] y"


def test_the_password_in_an_address_is_a_secret(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://me:hunter2hunter2@db.example/x")
    assert "hunter2hunter2" not in redact("cannot connect: hunter2hunter2 is wrong")
    assert "db.example" in redact("no route to db.example")


def test_the_working_directory_is_no_secret(monkeypatch):
    monkeypatch.setenv("PWD", "/home/somebody/project")
    assert redact("in /home/somebody/project") == "in /home/somebody/project"
