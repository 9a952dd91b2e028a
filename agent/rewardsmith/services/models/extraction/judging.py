"""Judges one block: code that can be tried, or a typed reason why not."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.models.extraction.reshaping import NoDefinition, check_signature, entry_of, reshape
from rewardsmith.services.models.extraction.syntax import (
    ENTRY,
    WANTED,
    loaded_names,
    parse,
    running_nodes,
    unknown_names,
)

_COMMENT = re.compile(r"#[^\n]*")
_OMISSION = re.compile(
    r"#[ \t]*(?:\.\.\.|\u2026|<)|\b(?:rest of|remain(?:ing|der)|same as|as (?:before|above)|existing code"
    r"|previous code|unchanged|your code|code here|goes here|to be implemented|implement|todo|fixme"
    r"|placeholder|omitted|fill (?:in|this))\b",
    re.IGNORECASE,
)
_MAYBE_CODE = re.compile(r"\b(?:def|lambda)\b")
_DEFINES = re.compile(rf"\b(?:def|class)[ \t]+\w+[ \t]*[(:]|\b{ENTRY}[ \t]*=")
_DEFINES_ENTRY = re.compile(rf"\b(?:def[ \t]+{ENTRY}\b|{ENTRY}[ \t]*=)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A block after all that could be mended was mended.

    Attributes:
        source: the code, as good as it got.
        failure: why it cannot be tried, or None.
        message: the text that goes with the failure.
        rank: how near it is to what was wanted; 0 for what defines nothing.
    """

    source: str
    failure: FailureCode | None
    message: str
    rank: int


RANK_VALID = 4
"""Rank of code under the right name; the ranks above 0 and below it are for other names and for failures."""


def judge(source: str, elsewhere: Mapping[str, str]) -> Judged:
    """Bring a block into the wanted form and judge it.

    Args:
        source: the block's text, mended.
        elsewhere: what the answer's other blocks define at top level.
    """
    if not _MAYBE_CODE.search(source):
        return Judged(source="", failure=FailureCode.NO_CODE, message="", rank=0)
    try:
        rank = RANK_VALID if _DEFINES_ENTRY.search(source) else RANK_VALID - 1
        source = reshape(_parsed(source), elsewhere)
        tree = parse(source)
        check_signature(tree)
        _check_complete(tree, source)
    except NoDefinition as error:
        return Judged(source="", failure=error.code, message=error.message, rank=0)
    except CandidateError as error:
        rank = 2 if _DEFINES_ENTRY.search(source) else 1 if _DEFINES.search(source) else 0
        return Judged(source=source, failure=error.code, message=error.message, rank=rank)
    return Judged(source=source, failure=None, message="", rank=rank)


def _parsed(source: str) -> str:
    try:
        parse(source)
    except CandidateError as error:
        if error.message.startswith("expected an indented block") and _omits(source):
            raise _left_out("a body holds nothing but a comment") from None
        raise
    return source


def _left_out(what: str) -> CandidateError:
    message = f"the code is not complete: {what}; write out the whole of {WANTED}, with all its helpers"
    return CandidateError(FailureCode.PLACEHOLDER, message)


def _check_complete(tree: ast.Module, source: str) -> None:
    """Look for what stands in for code that was left out.

    Raises:
        CandidateError: `PLACEHOLDER`.
    """
    entry = entry_of(tree)
    assert entry is not None
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        if all(_is_stub(statement) for statement in function.body):
            raise _left_out(f"{function.name} has no body")
    line = _ellipsis_line(tree)
    if line:
        raise _left_out(f"`...` stands for something (line {line})")
    if not any(isinstance(node, ast.Return) and node.value for node in running_nodes(*entry.body)):
        raise _left_out(f"{ENTRY} returns nothing")
    if not _omits(source):
        return
    unknown = sorted(unknown_names(tree))
    if unknown:
        raise _left_out(f"a comment stands for the code that would define {', '.join(unknown[:5])}")
    if loaded_names(*entry.body).isdisjoint(arg.arg for arg in (*entry.args.posonlyargs, *entry.args.args)):
        raise _left_out("a comment stands for the code that would look at the state")


def _omits(source: str) -> bool:
    """Tell whether a comment speaks of code that is not there; often it is there all the same."""
    return any(_OMISSION.search(comment[0]) for comment in _COMMENT.finditer(source))


def _is_stub(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.expr() as raised):
            return "NotImplementedError" in loaded_names(raised)
    return False


def _ellipsis_line(tree: ast.Module) -> int | None:
    """Return the line of the first `...` that is no index."""
    indices = {
        id(inner)
        for node in running_nodes(tree)
        if isinstance(node, ast.Subscript)
        for inner in ast.walk(node.slice)
    }
    lines = [
        node.lineno
        for node in running_nodes(tree)
        if isinstance(node, ast.Constant) and node.value is Ellipsis and id(node) not in indices
    ]
    return min(lines, default=None)
