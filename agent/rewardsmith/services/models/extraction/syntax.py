"""Parses untrusted Python without running it, and tells which names it uses."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from functools import lru_cache

from rewardsmith.contract.parsing import parse_python
from rewardsmith.contract.static_checks import check_source
from rewardsmith.errors import CandidateError, FailureCode

ENTRY = "compute_reward"
POTENTIAL = "potential"
"""Optional beside the entry."""
WANTED = f"{ENTRY}(state, action, next_state)"

_GIVEN = frozenset({"np", "numpy", "math"})
_BUILTINS = frozenset(dir(builtins))
_UNPARSABLE = (FailureCode.SYNTAX, FailureCode.TOO_LARGE)


@lru_cache(maxsize=8)
def parse(source: str) -> ast.Module:
    """Parse a source, however hostile. The tree is shared between callers and must not be changed.

    Raises:
        CandidateError: `SYNTAX` or `TOO_LARGE`.
    """
    _check_bounds(source)
    if not source.isascii():
        # A name that is not ASCII ends the checks early, before all of the nesting was looked at.
        _check_bounds("".join(c if c.isascii() else "x" for c in source))
    try:
        return parse_python(source)
    except SyntaxError as error:
        line = f" (line {error.lineno})" if error.lineno else ""
        raise CandidateError(FailureCode.SYNTAX, f"{error.msg}{line}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise CandidateError(FailureCode.SYNTAX, str(error) or "the source is nested too deeply") from None


def _check_bounds(source: str) -> None:
    try:
        check_source(source)
    except CandidateError as error:
        if error.code in _UNPARSABLE:
            raise


def parses(source: str) -> bool:
    """Return whether `parse` accepts the source."""
    try:
        parse(source)
    except CandidateError:
        return False
    return True


def running_nodes(*trees: ast.AST) -> Iterator[ast.AST]:
    """Yield every node of the trees but annotations, which are never evaluated."""
    todo = list(trees)
    while todo:
        node = todo.pop()
        yield node
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                children = value if isinstance(value, list) else [value]
                todo.extend(child for child in children if isinstance(child, ast.AST))


def bound_names(*trees: ast.AST) -> set[str]:
    """Return the names that the trees bind in any way, in whatever scope."""
    names: set[str] = set()
    for node in running_nodes(*trees):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
    return names


def loaded_names(*trees: ast.AST) -> set[str]:
    """Return the names that the trees read when they run."""
    return {n.id for n in running_nodes(*trees) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def free_names(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that these top-level statements read and expect from elsewhere in the module."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            inner = bound_names(*statement.body, statement.args)
            found |= loaded_names(*statement.body) - inner
            found |= loaded_names(statement.args, *statement.decorator_list)
        else:
            found |= loaded_names(statement)
    return found


def unknown_names(tree: ast.Module) -> set[str]:
    """Return the names that the module reads and that nothing in it, nor the sandbox, provides."""
    top: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            top.add(statement.name)
        else:
            top |= bound_names(statement)
    return free_names(tree.body) - top - _GIVEN - _BUILTINS


def first_line(node: ast.stmt) -> int:
    """Return the line that a statement starts on, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def without(source: str, tree: ast.Module, unwanted: Iterable[ast.stmt]) -> str:
    """Return the source without these top-level statements; comments elsewhere stay."""
    dropped = set(unwanted)
    if not dropped:
        return source
    lines = source.split("\n")
    gone = {n for node in dropped for n in range(first_line(node), (node.end_lineno or node.lineno) + 1)}
    kept = [node for node in tree.body if node not in dropped]
    if any(first_line(node) in gone or node.end_lineno in gone for node in kept):
        # Statements that share a line cannot be told apart by lines.
        return ast.unparse(ast.Module(body=kept, type_ignores=[]))
    return "\n".join(line for n, line in enumerate(lines, 1) if n not in gone).strip("\n")
