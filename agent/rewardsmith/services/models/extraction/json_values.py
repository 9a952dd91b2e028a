"""Finds code in the strings of JSON answers, and of what was meant to be JSON."""

import ast
import json
import re
from collections.abc import Iterator

from rewardsmith.errors import CandidateError
from rewardsmith.services.models.extraction.blocks import Block, fenced
from rewardsmith.services.models.extraction.syntax import parse

_MAX_VALUES = 20
_KEYS = (
    "code|reward_code|python_code|source_code|source|python|reward_function|reward|function|compute_reward"
    "|program|answer|output|content|response|text|arguments"
)
_VALUE = re.compile(rf"""(["'])(?:{_KEYS})\1\s{{0,20}}:\s{{0,20}}(\"\"\"|```|["'`])""", re.IGNORECASE)
_VALUE_END = r"\s*(?:,\s*)?(?:[}\]]|,\s*[\"']\w{1,40}[\"']\s*:)"
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(\n|.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "/": "/", "\\": "\\", "\n": "\n", "`": "`"}
_HAS_CODE = re.compile(r"(?:\b|\\n)(?:def|lambda)\b")


def json_blocks(section: Block) -> list[Block]:
    """Return the code in all JSON strings of the section, in order."""
    found: list[Block] = []
    # With a fence around, the fence's body is what may be JSON.
    for text in (section.text, *(block.text for block in fenced(section))):
        found += [Block(value) for value in _strict_values(text)]
    if not found:
        found = list(_lenient_values(section))
    return [part for block in found[-_MAX_VALUES:] for part in (fenced(block) or [block])]


def _strict_values(text: str) -> Iterator[str]:
    start = re.search(r"[{\[\"]", text)
    if not start or not _HAS_CODE.search(text):
        return
    body = text[start.start() :].strip()
    end = {"{": "}", "[": "]", '"': '"'}[body[0]]
    body = body[: body.rfind(end) + 1]
    try:
        yield from _strings(json.loads(body, strict=False))
    except (ValueError, RecursionError):
        yield from _strings(_python_literal(body))


def _python_literal(text: str) -> object:
    try:
        return ast.literal_eval(parse(text).body[0].value)  # type: ignore[attr-defined]
    except (CandidateError, ValueError, TypeError, IndexError, AttributeError, RecursionError, MemoryError):
        return None


def _strings(value: object, depth: int = 8) -> Iterator[str]:
    """Yield the strings in a decoded value that hold code; a list of lines counts as one string."""
    if depth == 0:
        return
    match value:
        case str() if _HAS_CODE.search(value):
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item, depth - 1)
        case list() if value and all(isinstance(item, str) for item in value):
            yield from _strings("\n".join(value), depth - 1)
        case list():
            for item in value:
                yield from _strings(item, depth - 1)


def _lenient_values(section: Block) -> Iterator[Block]:
    """Yield the values of known keys where the whole is no JSON: bad escapes, raw line ends, cut ends."""
    text = section.text
    for found in list(_VALUE.finditer(text))[-_MAX_VALUES:]:
        quote = found[2]
        rest = text[found.end() :]
        ending = re.search(rf"(?<!\\){re.escape(quote)}{_VALUE_END}", rest)
        value = rest[: ending.start()] if ending else rest.rstrip().rstrip("}").rstrip().removesuffix(quote)
        if not _HAS_CODE.search(value):
            continue
        whole = section.whole or ending is not None
        if "\n" in value.strip():
            # With raw line ends, a backslash is more likely the code's own.
            yield Block(_unescaped(value), whole)
            yield Block(value, whole)
        else:
            yield Block(_unescaped(value), whole)


def _unescaped(value: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return _ESCAPES.get(found[2], found[0])

    return _ESCAPE.sub(plain, value)
