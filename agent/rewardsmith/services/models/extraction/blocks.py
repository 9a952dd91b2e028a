"""Finds the stretches of a chat answer that may be code: in fences, or loose between prose."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MAX_BLOCKS = 60
"""Of more fences than this, the first few and the last ones are looked at."""
_MAX_STRING_LINES = 300
"""A docstring that is longer than this is taken for one that was never closed."""

_THOUGHTS = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think"
_THOUGHT_TAG = re.compile(
    rf"<(/?)(?:{_THOUGHTS})(?: [^<>\n]{{0,80}})?>|(?-i:\[(/?)THINK\])|\u25c1(/?)think\u25b7", re.IGNORECASE
)
_CHANNEL = re.compile(r"<\|channel\|>\s{0,4}(\w{1,20})[^<>\n]{0,80}<\|message\|>")
_TOKEN = re.compile(
    r"<[|\uff5c][^|\uff5c<>\n]{1,40}[|\uff5c]>|</?s>|<(?:end|start)_of_turn>|<eos>"
    r"|<!\[CDATA\[|\]\]>(?=\s*(?:</|$))"
)
_ANSWERS = "answer|final_answer|final|output|response|solution|result"
_ANSWER_TAG = re.compile(rf"<(/?)(?:{_ANSWERS})(?: [^<>\n]{{0,80}})?>", re.IGNORECASE)
_CODE_TAG = re.compile(
    rf"</?(?:code|pre|python|reward|reward_function|{_ANSWERS})(?: [^<>\n]{{0,80}})?>", re.IGNORECASE
)

_FENCE = re.compile(r"([ \t>]*)(?:(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_LATE_FENCE = re.compile(r"(?:[^`\n]*[^`\s])()[ \t]*(`{3,})[ \t]*([\w+-]*)[ \t]*$")
"""An opening fence that prose stands before, on the same line."""
_CODE_INFO = re.compile(r"(?:[Pp]y\w*[ \t]+)?((?:def|import|from|async def|@\w+|class)\b.*)")

_HEAD = r"(?:async[ \t]+def|def|class)[ \t]+\w+[ \t]*[(:]|compute_reward[ \t]*=[ \t]*lambda\b"
_MAIN_START = re.compile(rf"([ \t]*)(?:{_HEAD})")
_START = re.compile(
    rf"{_HEAD}|@\w[\w.]*|import[ \t]+\w[\w.]*(?:[ \t]+as[ \t]+\w+)?(?:,.*)?$|from[ \t]+[\w.]+[ \t]+import\b"
    r"|[A-Za-z_]\w*[ \t]*(?::[^=\n]{1,60})?=[^=]|if[ \t]+__name__|[rR]?(?:\"\"\"|''')"
)
_WORD = r"(?!(?:if|else|for|in|and|or|not|is|lambda|import|as|from)\b)[A-Za-z]"
_PROSE = re.compile(rf"[^\"'#]*(?<!\w){_WORD}\w* {_WORD}")
"""Two words in a row, which no assignment has outside of strings."""
_CONTINUED = re.compile(r"[ \t]|[)\]}]|else\b|elif\b|except\b|finally\b|(?:async )?def\b|#")
_BULLET = re.compile(r"[ \t]*(?:[-*\u2022]|\d{1,3}[.)])[ \t]+[A-Z`*]")


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text that may be code.

    Attributes:
        text: the stretch.
        whole: False where it ends only because the answer does, so that it may have been cut.
    """

    text: str
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Sections:
    """What the model says, what it marked as its answer, and what it only thought."""

    marked: Block
    answer: Block
    thoughts: Block


def split_sections(text: str) -> Sections:
    """Tell the answer from the thoughts by the tags that models put around them."""
    text = _CHANNEL.sub(lambda found: "</think>" if found[1] == "final" else "<think>", text)
    text = _TOKEN.sub("\n", text)
    answer: list[str] = []
    thoughts: list[str] = []
    at, thinking = 0, False
    for tag in _THOUGHT_TAG.finditer(text):
        closes = any(tag.groups())
        piece = text[at : tag.start()]
        at = tag.end()
        if thinking:
            thoughts.append(piece)
        elif closes:
            # The opening tag was part of the prompt: all that came before was thought.
            thoughts += [*answer, piece]
            answer = []
        else:
            answer.append(piece)
        thinking = not closes
    (thoughts if thinking else answer).append(text[at:])
    said = Block("\n".join(answer), whole=thinking)
    return Sections(_marked(said), said, Block("\n".join(thoughts), whole=not thinking))


def _marked(said: Block) -> Block:
    tags = list(_ANSWER_TAG.finditer(said.text))
    start = next((i for i in reversed(range(len(tags))) if not tags[i][1]), None)
    if start is None:
        return Block("")
    is_closed = start + 1 < len(tags)
    end = tags[start + 1].start() if is_closed else len(said.text)
    return Block(said.text[tags[start].end() : end], whole=is_closed or said.whole)


def fenced(section: Block, depth: int = 2) -> list[Block]:
    """Return the bodies of all fences in order, and those of fences within them."""
    found: list[Block] = []
    for block in _few(list(_fences(section))):
        found.append(block)
        if depth > 1 and ("```" in block.text or "~~~" in block.text):
            found += fenced(block, depth - 1)
    return found


def _few(blocks: list[Block]) -> list[Block]:
    return blocks if len(blocks) <= _MAX_BLOCKS else blocks[:10] + blocks[10 - _MAX_BLOCKS :]


def _fences(section: Block) -> Iterator[Block]:
    lines = section.text.split("\n")
    opening: re.Match[str] | None = None
    body: list[str] = []
    in_string_until = -1
    for number, line in enumerate(lines):
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if opening is None:
            opening = fence or (_LATE_FENCE.match(line) if "```" in line else None)
            body = _code_after(opening) if opening else []
            continue
        if fence is None or not fence[2].startswith(opening[2]):
            last = _code_before_mark(line, opening[2], body)
            body.append(line if last is None else last)
            if last is not None:
                yield Block("\n".join(body))
                opening = None
            continue
        if number >= in_string_until and _is_open_string(body):
            in_string_until = _string_end(lines, number)
        if number < in_string_until:
            body.append(line)
            continue
        yield Block("\n".join(body))
        opening, body = (fence, _code_after(fence)) if fence[3].strip() else (None, [])
    if opening is not None:
        yield Block("\n".join(body), whole=section.whole)


def _code_before_mark(line: str, mark: str, body: list[str]) -> str | None:
    """Return what a line of code holds before the mark that closes its fence, or None."""
    before = line.rstrip().removesuffix(mark)
    if not line.rstrip().endswith(mark) or mark[0] in before or _is_open_string([*body, before]):
        return None
    return before


def _code_after(fence: re.Match[str]) -> list[str]:
    """Return the code that stands on the opening line itself, if any."""
    code = _CODE_INFO.match(fence[3])
    return [code[1]] if code else []


def _is_open_string(lines: list[str]) -> bool:
    """Tell whether a docstring is still open, so that a fence within it is only text."""
    recent = "\n".join(lines[-_MAX_STRING_LINES:])
    return bool(recent.count('"""') % 2 or recent.count("'''") % 2)


def _string_end(lines: list[str], start: int) -> int:
    for number in range(start, min(len(lines), start + _MAX_STRING_LINES)):
        if '"""' in lines[number] or "'''" in lines[number]:
            return number
    return start


def loose(section: Block) -> list[Block]:
    """Return the code that stands between prose, without fences that could be relied on."""
    pieces: list[list[str]] = [[]]
    for line in _CODE_TAG.sub("\n```\n", section.text).split("\n"):
        is_fence = ("```" in line or "~~~" in line) and _FENCE.match(line)
        if is_fence and not _is_open_string(pieces[-1]):
            pieces.append([])
        else:
            pieces[-1].append(line)
    blocks = []
    for number, lines in enumerate(pieces):
        is_last = number == len(pieces) - 1
        block = _code_between_prose(lines, whole=section.whole or not is_last)
        if block:
            blocks.append(block)
    return _few(blocks)


def _code_between_prose(lines: list[str], whole: bool) -> Block | None:
    indents = [found[1] for line in lines if (found := _MAIN_START.match(line))]
    if not indents:
        return None
    base = min(indents, key=len)
    code: list[str] = []
    inside = is_string = False
    last = -1
    for number, line in enumerate(lines):
        rest = line[len(base) :] if line.startswith(base) else line.lstrip()
        if not is_string:
            inside = _is_code(
                line, rest, base, inside, after_blank=number > 0 and not lines[number - 1].strip()
            )
        if inside:
            code.append(rest.rstrip("`") if rest.endswith("```") else rest)
            last = number if line.strip() else last
            is_string ^= rest.count('"""') % 2 == 1 or rest.count("'''") % 2 == 1
    ends_early = any(line.strip() for line in lines[last + 1 :])
    return Block("\n".join(code), whole=whole or ends_early)


def _is_code(line: str, rest: str, base: str, inside: bool, after_blank: bool) -> bool:
    if not line.strip():
        return inside
    if not line.startswith(base):
        return False
    if inside and _CONTINUED.match(rest):
        return not (after_blank and _BULLET.match(rest))
    return bool(_START.match(rest)) and (bool(_MAIN_START.match(rest)) or not _PROSE.match(rest))
