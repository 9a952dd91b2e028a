"""Early, clear errors for a candidate's source, before anything of it runs; never the boundary of trust."""

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from rewardsmith.contract.modules import MODULE_NAMES, module_objection
from rewardsmith.contract.parsing import parse_python
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.worker.reward.frame import MAX_SOURCE_BYTES
from rewardsmith.worker.reward.namespace import ALLOWED_BUILTINS, ENTRY, IMPORTABLE, POTENTIAL

_MAX_DEPTH = 60
"""Brackets within brackets; hand-written rewards stay under ten."""
_MAX_OPERATORS = 2000
"""Operators in one statement: a chain of thousands overflows the parser's stack."""
_MAX_AST_DEPTH = 120
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ARITY = {ENTRY: 3, POTENTIAL: 1}

_FORBIDDEN_ATTRIBUTES_WORDS = """
ctypes cr_code cr_frame dump dumps f_back f_builtins f_code f_globals f_locals format format_map
func_globals gi_code gi_frame mro setflags tb_frame tb_next tofile
"""
_FORBIDDEN_ATTRIBUTES = frozenset(_FORBIDDEN_ATTRIBUTES_WORDS.split())
_KNOWN_BUILTINS_WORDS = """
BaseException BlockingIOError EOFError GeneratorExit ImportError KeyboardInterrupt MemoryError OSError
PermissionError SystemExit aiter anext ascii bin breakpoint bytearray bytes callable chr classmethod
compile copyright credits delattr dir eval exec exit format getattr globals hasattr hash help hex id input
issubclass license locals memoryview oct open ord print property quit repr setattr staticmethod super type
vars
"""
_KNOWN_BUILTINS = frozenset(_KNOWN_BUILTINS_WORDS.split())
_NOT_TO_BIND = _KNOWN_BUILTINS | MODULE_NAMES
"""What one part of a file binds, another part would read as the builtin or the module."""
_FORBIDDEN_NODES: dict[type[ast.AST], str] = {
    ast.Global: "global state is not allowed: the same rows must give the same reward every time",
    ast.Nonlocal: "nonlocal state is not allowed: the same rows must give the same reward every time",
    ast.ClassDef: "classes are not allowed; use functions",
    ast.AsyncFunctionDef: "async functions are not allowed",
    ast.Await: "await is not allowed",
    ast.AsyncFor: "async for is not allowed",
    ast.AsyncWith: "async with is not allowed",
}


def check_source(source: str) -> None:
    """Check a candidate's source without running it.

    Raises:
        CandidateError: `SYNTAX`, `FORBIDDEN`, `SIGNATURE` or `TOO_LARGE`, with the line number.
    """
    _check_tree(_parse(source))


def prepare_source(source: str) -> str:
    """Check a candidate's source and return it with the accepted imports replaced by `pass`.

    Raises:
        CandidateError: as `check_source` does.
    """
    tree = _parse(source)
    _check_tree(tree)
    lines = [line.encode() for line in io.StringIO(source, newline=None).read().split("\n")]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    for node in sorted(imports, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        assert node.end_lineno is not None
        first, last = node.lineno - 1, node.end_lineno - 1
        tail = lines[last][node.end_col_offset :]
        lines[first] = lines[first][: node.col_offset] + b"pass" + tail
        # Continuation lines are emptied, so that line numbers stay.
        lines[first + 1 : last + 1] = [b""] * (last - first)
    return b"\n".join(lines).decode()


def normalised_ast(source: str) -> str:
    """Return a digest that is equal for sources that compute the same in the same way.

    Names that the source binds itself, comments, docstrings, annotations, imports and formatting do not
    matter; constants and the fields of the state do.

    Raises:
        CandidateError: the source does not parse.
    """
    tree = _parse(source)
    _Strip().visit(tree)
    bound = set(_bound_names(tree)) - set(_ARITY)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        for field in ("id", "arg", "name"):
            name = getattr(node, field, None)
            if name in bound and not isinstance(node, ast.keyword):
                setattr(node, field, names.setdefault(name, f"_{len(names)}"))
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _parse(source: str) -> ast.Module:
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        _fail(FailureCode.SYNTAX, "the source is not valid Unicode")
    if size > MAX_SOURCE_BYTES:
        _fail(FailureCode.TOO_LARGE, f"the source has {size} bytes, {MAX_SOURCE_BYTES} are allowed")
    found = _BIDI.search(source)
    if found:
        line = source.count("\n", 0, found.start()) + 1
        _fail(FailureCode.FORBIDDEN, "an invisible character changes the reading order", line)
    try:
        _check_tokens(source)
        tree = parse_python(source)
    except SyntaxError as error:
        _fail(FailureCode.SYNTAX, error.msg, error.lineno)
    except (tokenize.TokenError, ValueError) as error:
        _fail(FailureCode.SYNTAX, str(error.args[0] if error.args else error))
    except (MemoryError, RecursionError):
        _fail(FailureCode.SYNTAX, "the source is nested too deeply")
    _check_depth(tree)
    return tree


def _check_tokens(source: str) -> None:
    """Refuse what would overflow the parser, and names that only look like others."""
    depth = operators = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth = max(0, depth - 1)
        elif token.type == tokenize.NEWLINE:
            operators = 0
        elif (token.type == tokenize.OP and token.string not in ",:=") or token.string in _WORD_OPERATORS:
            operators += 1
        elif token.type == tokenize.NAME and not token.string.isascii():
            _fail(FailureCode.FORBIDDEN, f"name {token.string[:60]!r} is not plain ASCII", line)
        if depth > _MAX_DEPTH or operators > _MAX_OPERATORS:
            _fail(FailureCode.SYNTAX, "the source is nested too deeply", line)


_WORD_OPERATORS = frozenset({"not", "and", "or", "if", "lambda", "in", "is", "await", "elif", "for"})


def _check_depth(tree: ast.Module) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(_MAX_AST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    line = next((node.lineno for node in level if isinstance(node, ast.expr | ast.stmt)), None)
    _fail(FailureCode.SYNTAX, "the source is nested too deeply", line)


def _check_tree(tree: ast.Module) -> None:
    _check_signatures(tree)
    taken = next((node for node in _bound_nodes(tree) if node.name in _NOT_TO_BIND), None)
    if taken is not None:
        _fail(FailureCode.FORBIDDEN, f"the name {taken.name!r} is taken; call it otherwise", taken.line)
    bases = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in _walk_running(tree):
        message = _FORBIDDEN_NODES.get(type(node)) or _objection(node) or module_objection(node, bases)
        if message:
            _fail(FailureCode.FORBIDDEN, message, getattr(node, "lineno", None))


def _check_signatures(tree: ast.Module) -> None:
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if ENTRY not in functions:
        _fail(FailureCode.SIGNATURE, f"the code must define {ENTRY}(state, action, next_state) at top level")
    for name, arity in _ARITY.items():
        function = functions.get(name)
        if function is None:
            continue
        a = function.args
        plain = not (a.vararg or a.kwarg or a.kwonlyargs or a.defaults)
        if not plain or len(a.posonlyargs) + len(a.args) != arity:
            wanted = "(state, action, next_state)" if name == ENTRY else "(state)"
            message = f"{name} must take exactly {wanted}, without defaults, * or **"
            _fail(FailureCode.SIGNATURE, message, function.lineno)
        if function.decorator_list:
            _fail(FailureCode.SIGNATURE, f"{name} must not be decorated", function.lineno)


def _objection(node: ast.AST) -> str | None:
    match node:
        case ast.Import(names=names):
            bad = next((alias for alias in names if not _is_allowed_import(alias)), None)
            if bad is not None:
                return f"import of {bad.name!r} is not allowed, only `import numpy as np` and `import math`"
        case ast.ImportFrom(module=module):
            return f"import from {module!r} is not allowed; use `np.` and `math.`"
        case ast.Name(id=name):
            if name.startswith("__"):
                return f"name {name!r} is not allowed"
            if name in _KNOWN_BUILTINS:
                return f"{name} is not allowed; the builtins are {', '.join(sorted(_FUNCTIONS))}"
        case ast.Attribute(attr=attribute, ctx=context):
            if attribute.startswith("_") or attribute in _FORBIDDEN_ATTRIBUTES:
                return f"attribute {attribute!r} is not allowed"
            if not isinstance(context, ast.Load):
                return f"attribute {attribute!r} must not be changed"
        case ast.MatchClass(kwd_attrs=attributes):
            hidden = next((attribute for attribute in attributes if attribute.startswith("_")), None)
            if hidden is not None:
                return f"attribute {hidden!r} is not allowed"
    return None


def _is_allowed_import(alias: ast.alias) -> bool:
    aliases = {"numpy": (None, "np", "numpy"), "math": (None, "math")}
    return alias.name in IMPORTABLE and alias.asname in aliases[alias.name]


_FUNCTIONS = frozenset(name for name in ALLOWED_BUILTINS if name.islower())


def _walk_running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node but annotations, which are never evaluated."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            children = value if isinstance(value, list) else [value]
            todo.extend(child for child in reversed(children) if isinstance(child, ast.AST))


@dataclass(frozen=True, slots=True)
class _Bound:
    name: str
    line: int | None


def _bound_names(tree: ast.AST) -> Iterator[str]:
    return (bound.name for bound in _bound_nodes(tree))


def _bound_nodes(tree: ast.AST) -> Iterator[_Bound]:
    """Yield every name that the source binds, wherever."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield _Bound(name, node.lineno)
            case ast.FunctionDef(name=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield _Bound(name, node.lineno)
            case ast.ExceptHandler(name=str(name)):
                yield _Bound(name, node.lineno)
            case ast.MatchMapping(rest=str(name)):
                yield _Bound(name, node.lineno)


class _Strip(ast.NodeTransformer):
    """Drops what does not change what is computed."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        plain = ast.Assign(targets=[node.target], value=node.value)
        return self.generic_visit(ast.copy_location(plain, node))


def _fail(code: FailureCode, message: str, line: int | None = None) -> NoReturn:
    raise CandidateError(code, f"{message} (line {line})" if line else message)
