"""Gets reward code out of whatever a chat model really sends; nothing of it is ever run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.models.extraction.blocks import Block, fenced, loose, split_sections
from rewardsmith.services.models.extraction.json_values import json_blocks
from rewardsmith.services.models.extraction.judging import RANK_VALID, Judged, judge
from rewardsmith.services.models.extraction.mending import mend, with_line_ends
from rewardsmith.services.models.extraction.reshaping import definitions
from rewardsmith.services.models.extraction.syntax import WANTED

_MAX_SIDE = 200_000
"""Characters that are looked at from either end of a text."""
_MAX_JOINED = 12
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "content_filter"})
_FILTERED = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "recitation"})
_INVISIBLE = re.compile("[\x00\ufeff\u200b\u200c\u200d\u2060\u00ad]")
_APOLOGY = re.compile(
    r"\bI(?:'m| am) (?:very |so |really |terribly )?sorry\b"
    r"|\bI (?:can't|cannot|can not|could not|couldn't|won't|will not|am unable to|am not able to"
    r"|must decline|have to decline|must refuse)\b|\bI'm (?:unable|not able) to\b"
    r"|\bas an AI\b|\bagainst my (?:guidelines|policy|policies)\b|\b(?:my|our) apologies\b",
    re.IGNORECASE,
)
_APOLOGY_REACH = 600
_CUT_SHORT = f"the answer was cut at its length limit; be brief and write the whole of {WANTED}"
_TOP_LEVEL = re.compile(r"[^\s#)\]}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What was found in an answer.

    Attributes:
        source: the code, also where it has a failure that a repair could start from; else empty.
        failure: why there is nothing to try, or None.
        message: one clear text for the coder that goes with the failure.
    """

    source: str = ""
    failure: FailureCode | None = None
    message: str = ""


def extract_code(
    text: str, *, reasoning: str = "", finish_reason: str | None = None, refusal: str | None = None
) -> Extracted:
    """Find the code that an answer proposes.

    Of several blocks the last one wins that parses, has the right name and arity, and leaves nothing out.

    Args:
        text: the message's content, empty where it had none.
        reasoning: the text of a separate reasoning field; read only where the content holds no code.
        finish_reason: `stop`, `length`, `content_filter`, ...
        refusal: the refusal field of the message.
    """
    ending = (finish_reason or "").lower()
    is_cut = ending in _CUT
    text, reasoning = _looked_at(text), _looked_at(reasoning)
    best = _best(text, reasoning, is_cut)
    if best and best.failure is None:
        return Extracted(source=best.source)
    if refusal or ending in _FILTERED:
        reason = _shown(refusal or "") or "the answer was filtered"
        return _failed(FailureCode.REFUSED, f"no code was given: {reason}", best)
    if best and is_cut and best.failure is not FailureCode.TRUNCATED:
        return _failed(FailureCode.TRUNCATED, f"{_CUT_SHORT}; before that: {best.message}", best)
    if best:
        return Extracted(source=best.source, failure=best.failure, message=best.message)
    if is_cut:
        return _failed(FailureCode.TRUNCATED, "the answer reached its length limit before any code; be brief")
    answer = split_sections(text).answer.text
    if not answer.strip():
        return _failed(FailureCode.EMPTY, f"the answer is empty; write {WANTED} in one ```python block")
    if _APOLOGY.search(answer[:_APOLOGY_REACH].replace("\u2019", "'")):
        return _failed(FailureCode.REFUSED, f"no code was given: {_shown(answer)}")
    return _failed(FailureCode.NO_CODE, f"no code was found; write {WANTED} in one ```python block")


def _failed(failure: FailureCode, message: str, best: Judged | None = None) -> Extracted:
    return Extracted(source=best.source if best else "", failure=failure, message=message)


def _shown(text: str) -> str:
    return " ".join(text.split())[:200].encode(errors="replace").decode()


def _looked_at(text: str) -> str:
    if len(text) > 2 * _MAX_SIDE:
        text = f"{text[:_MAX_SIDE]}\n{text[-_MAX_SIDE:]}"
    text = text.encode(errors="replace").decode()
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _best(text: str, reasoning: str, is_cut: bool) -> Judged | None:
    """Return the best block of the first part of the message that holds any code."""
    sections = split_sections(text)
    thought = Block(reasoning, whole=bool(text.strip()))
    for section in (sections.marked, sections.answer, sections.thoughts, thought):
        if not section.text.strip():
            continue
        best: Judged | None = None
        for blocks in _tiers(section):
            found = _best_block(blocks, is_cut)
            if found and (best is None or found.rank > best.rank):
                best = found
            if best and _is_settled(best):
                return best
        if best:
            return best
    return None


def _is_settled(judged: Judged) -> bool:
    """Tell whether reading less surely could only hide what is wrong."""
    return judged.failure is None or (judged.rank > 1 and judged.failure is not FailureCode.SYNTAX)


def _tiers(section: Block) -> Iterator[list[Block]]:
    """Yield groups of blocks, from the surest way of reading a section to the least sure."""
    fences = fenced(section)
    joined = []
    if 2 <= len(fences) <= _MAX_JOINED:
        # One function may go on in the next fence.
        joined = [Block("\n".join(block.text for block in fences), fences[-1].whole)]
    yield [*joined, *fences]
    yield json_blocks(section)
    yield loose(section)
    unescaped = Block(with_line_ends(section.text), section.whole)
    if unescaped != section:
        yield fenced(unescaped) or loose(unescaped)


def _best_block(blocks: list[Block], is_cut: bool) -> Judged | None:
    best: Judged | None = None
    sources = [mend(block.text) for block in blocks]
    known = [_definitions(source) for source in sources] if len(blocks) > 1 else []
    for number, (block, source) in enumerate(zip(blocks, sources, strict=True)):
        others = [names for other, names in enumerate(known) if other != number]
        elsewhere = {name: text for names in others for name, text in names.items()}
        found = judge(source, elsewhere) if block.whole or not is_cut else _judge_cut(source, elsewhere)
        if found.rank and (best is None or found.rank >= best.rank):
            best = found
    return best


def _definitions(source: str) -> dict[str, str]:
    try:
        return definitions(source)
    except CandidateError:
        return {}


def _judge_cut(source: str, elsewhere: dict[str, str]) -> Judged:
    """Judge a block that the length limit may have cut: its last statement does not count."""
    lines = source.split("\n")
    starts = [number for number, line in enumerate(lines) if _TOP_LEVEL.match(line)]
    last = starts[-1] if starts else 0
    kept = "\n".join(lines[:last])
    judged = judge(kept, elsewhere)
    lost = re.match(r"(?:async )?(?:def|class) (\w+)|(\w+)", lines[last])
    name = (lost[1] or lost[2]) if lost else None
    if judged.rank >= RANK_VALID - 1 and not (name and re.search(rf"\b{name}\b", kept)):
        return judged
    whole = judge(source, elsewhere)
    return Judged(
        source=whole.source or source, failure=FailureCode.TRUNCATED, message=_CUT_SHORT, rank=whole.rank
    )
