"""What a person reads who made a mistake in a YAML file: the place, the key and the remedy."""

from typing import Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

from rewardsmith.errors import ConfigError, TaskError
from rewardsmith.services.yaml_file import load_yaml_model, parse_yaml


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int = Field(default=1, gt=0)
    colour: Literal["red", "blue"] = "red"


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    part: Part = Part()
    maybe: Part | None = None
    parts: tuple[Part, ...] = ()
    free: dict[str, int] = {}
    table: dict[str, Part] = {}


@pytest.fixture
def complaint(tmp_path):
    """The error that a file of this text gives, without the path."""

    def load(text):
        path = tmp_path / "file.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ConfigError) as caught:
            load_yaml_model(path, Whole)
        return str(caught.value).removeprefix(str(path))

    return load


def test_a_right_file_becomes_a_model(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("title: ä\npart: {size: 3}\nparts:\n  - colour: blue\n", encoding="utf-8")
    whole = load_yaml_model(path, Whole)
    assert whole == Whole(title="ä", part=Part(size=3), parts=(Part(colour="blue"),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title: x\ntitel: y\n", ":2: titel: unknown key; did you mean title?"),
        ("title: x\nqqq: y\n", ":2: qqq: unknown key; known keys: title, part, maybe, parts, free, table"),
        ("title: x\npart:\n  size: 1\n  colur: red\n", ":4: part.colur: unknown key; did you mean colour?"),
        ("title: x\nmaybe:\n  sise: 1\n", ":3: maybe.sise: unknown key; did you mean size?"),
        ("title: x\nparts:\n- {}\n- sizes: 1\n", ":4: parts.1.sizes: unknown key; did you mean size?"),
        ("title: x\ntable:\n  a: {sise: 1}\n", ":3: table.a.sise: unknown key; did you mean size?"),
        ("part: {size: 2}\n", ":1: title: this key is required"),
        ("title: x\npart:\n  size: big\n", ":3: part.size: input should be a valid integer"),
        ("title: x\npart:\n  size: 0\n", ":3: part.size: input should be greater than 0 (got 0)"),
        ("title: x\n\npart: {colour: green}\n", ":3: part.colour: input should be 'red' or 'blue'"),
        ("title: [1]\n", ":1: title: input should be a valid string"),
        ("title: x\nfree: {a: b}\n", ":2: free.a: input should be a valid integer"),
        ("title: x\n1: y\n", ":2: 1: keys should be strings"),
        ("title: x\npart:\n  size: 1\n  size: 2\n", ":4: broken YAML: the key 'size' stands twice"),
        ("title: x\n? [a, b]\n: y\n", ":2: broken YAML: a key must be a plain word"),
        ("title: [1, 2\n", ":2: broken YAML: "),
        ("title: *nobody\n", ":1: broken YAML: found undefined alias"),
        ("title: 2024-13-01\n", ": broken YAML: month must be in 1..12; put such a value in quotes"),
        ("title: !!python/name:os.system\n", ":1: broken YAML: could not determine a constructor"),
        ("title: \x01\n", ": broken YAML: unacceptable character"),
        ("- title\n", ":1: expected a mapping of keys to values"),
        ("just words\n", ":1: expected a mapping of keys to values"),
        ("", ":1: expected a mapping of keys to values"),
        (b"title: \xff\n", ": not a UTF-8 text file (invalid start byte at byte 7)"),
    ],
)
def test_a_fault_is_named_with_line_key_and_remedy(complaint, text, expected):
    assert complaint(text).startswith(expected)


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read \(No such file or directory\)"):
        load_yaml_model(tmp_path / "absent.yaml", Whole)
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        load_yaml_model(tmp_path, Whole)


def test_the_caller_chooses_the_type_of_error(tmp_path):
    with pytest.raises(TaskError):
        load_yaml_model(tmp_path / "absent.yaml", Whole, TaskError)


def test_an_anchor_may_be_merged(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("title: x\npart: &p {size: 4}\nmaybe: {<<: *p, colour: blue}\n")
    assert load_yaml_model(path, Whole).maybe == Part(size=4, colour="blue")


def test_yaml_itself_lets_a_second_key_pass():
    assert yaml.safe_load("a: 1\na: 2") == {"a": 2}, "the loader here is no longer needed"


@pytest.mark.parametrize("text", ["1e-3", "3e-4", "-2E+5", "1.5e3", "0.001"])
def test_a_number_with_an_exponent_is_a_number(text):
    value = parse_yaml(f"rate: {text}")["rate"]
    assert (type(value), value) == (float, float(text))


@pytest.mark.parametrize("text", ["1e", "e3", "v1e-3", "1e-3s"])
def test_what_only_looks_like_one_stays_text(text):
    assert parse_yaml(f"name: {text}") == {"name": text}
