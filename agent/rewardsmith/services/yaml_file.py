"""YAML files that people write, read into pydantic models with errors that name file, line and key."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from rewardsmith.errors import ConfigError, RewardsmithError

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[int | str, ...]


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses a key that stands twice, which YAML itself lets pass."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a plain word, not a list or a mapping", key.start_mark
                )
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


# YAML 1.1 takes 1e-3 for a string, since it has no dot; who writes a learning rate means a number.
_UniqueKeyLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+\Z"), list("-+0123456789")
)


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text, read as `load_yaml_model` reads a file.

    Raises:
        yaml.YAMLError: it is not YAML.
    """
    loader = _UniqueKeyLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def load_yaml_model(path: Path, model: type[Model], error: type[RewardsmithError] = ConfigError) -> Model:
    """Read a YAML file into `model`.

    Raises:
        RewardsmithError: of the type `error`, as `file:line: key: what is wrong`, for the first fault.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as bad:
        raise error(f"{path}: not a UTF-8 text file ({bad.reason} at byte {bad.start})") from None
    except OSError as bad:
        raise error(f"{path}: cannot be read ({bad.strerror})") from None
    data, root = _parse(text, path, error)
    try:
        return model.model_validate(data)
    except ValidationError as bad:
        fault = bad.errors()[0]
        line = _line_of(root, fault["loc"])
        raise error(f"{path}:{line}: {describe_fault(fault, model)}") from None


def _parse(text: str, path: Path, error: type[RewardsmithError]) -> tuple[Any, yaml.Node]:
    try:
        loader = _UniqueKeyLoader(text)
        root = loader.get_single_node()
        data = loader.construct_document(root) if root is not None else None
    except yaml.MarkedYAMLError as bad:
        mark = bad.problem_mark or bad.context_mark
        line = mark.line + 1 if mark else 1
        raise error(f"{path}:{line}: broken YAML: {bad.problem or bad.context}") from None
    except yaml.YAMLError as bad:
        raise error(f"{path}: broken YAML: {' '.join(str(bad).split())}") from None
    except ValueError as bad:
        # A scalar that looks like a date or a number and is none, such as 2024-13-01.
        raise error(f"{path}: broken YAML: {bad}; put such a value in quotes") from None
    if not isinstance(data, dict) or root is None:
        raise error(f"{path}:1: expected a mapping of keys to values")
    return data, root


def _line_of(node: yaml.Node, location: Location) -> int:
    line = node.start_mark.line
    for part in location:
        child = next((pair for pair in _children(node) if str(pair[0]) == str(part)), None)
        if child is None:
            break
        _, node, line = child
    return line + 1


def _children(node: yaml.Node) -> Iterator[tuple[int | str, yaml.Node, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key.value, value, key.start_mark.line
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield index, value, value.start_mark.line


def describe_fault(fault: Any, model: type[BaseModel]) -> str:
    """Return `key: what is wrong` of one pydantic error, with near matches for an unknown key."""
    location: Location = fault["loc"]
    key = ".".join(str(part) for part in location) or "(file)"
    if fault["type"] == "extra_forbidden":
        known = _known_keys(model, location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known keys: {', '.join(known)}"
        return f"{key}: unknown key; {hint}"
    if fault["type"] == "missing":
        return f"{key}: this key is required"
    message = str(fault["msg"]).removeprefix("Value error, ")
    value = fault.get("input")
    shown = f" (got {value!r})" if isinstance(value, str | int | float | bool) else ""
    return f"{key}: {message[:1].lower()}{message[1:]}{shown}"


def _known_keys(model: type[BaseModel], location: Location) -> list[str]:
    for part in location:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            break
        model = inner
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, list, tuple, dict):
        return next((m for m in map(_model_in, get_args(annotation)) if m), None)
    return None
