"""Brings parsed code into the wanted form: one top-level `compute_reward` with three parameters."""

import ast
import re
from collections.abc import Mapping
from typing import NoReturn

from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.models.extraction.syntax import (
    ENTRY,
    POTENTIAL,
    WANTED,
    bound_names,
    first_line,
    free_names,
    loaded_names,
    parse,
    running_nodes,
    unknown_names,
    without,
)

_ANNOTATION_MODULES = frozenset(
    {"__future__", "typing", "typing_extensions", "collections.abc", "numpy.typing", "nptyping", "jaxtyping"}
)
_DEMO_NAMES = ("test", "main", "example", "demo", "usage", "run_")
_MAX_ROUNDS = 20
"""How deep constants and helpers may build on one another."""
_LIBRARIES = frozenset({"np", "numpy", "math"})

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


class NoDefinition(CandidateError):  # noqa: N818  (a finding, not a fault)
    """Raised when code defines no function at all, as a usage example does."""

    def __init__(self) -> None:
        super().__init__(FailureCode.NO_CODE, f"there is code, but it does not define {WANTED}")


def reshape(source: str, elsewhere: Mapping[str, str]) -> str:
    """Return the source in the wanted form.

    Args:
        source: code that parses.
        elsewhere: top-level statements of the answer's other blocks, by the name that they define.

    Raises:
        CandidateError: `SIGNATURE` where the form is out of reach.
    """
    source = _with_missing(_with_entry(source), elsewhere)
    source = _undecorated(source)
    return _without_extras(source)


def definitions(source: str) -> dict[str, str]:
    """Return the top-level helpers, constants and imports of a source that parses, by name."""
    found = {}
    lines = source.split("\n")
    for node in parse(source).body:
        text = "\n".join(lines[first_line(node) - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            found[node.name] = text
        elif isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Assign) and loaded_names(node) <= _LIBRARIES
        ):
            found |= dict.fromkeys(bound_names(node), text)
    found.pop(ENTRY, None)
    return found


def entry_of(tree: ast.Module) -> ast.FunctionDef | None:
    """Return the definition of `compute_reward` that holds when the module has run."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]
    return found[-1] if found else None


def _with_entry(source: str) -> str:
    tree = parse(source)
    entry = entry_of(tree)
    if entry:
        return _without_self(source, entry)
    for node in reversed(tree.body):
        match node:
            case ast.AsyncFunctionDef(name=name) if name == ENTRY:
                _refuse(f"{ENTRY} must not be async; write `def {WANTED}:`")
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function) if name == ENTRY:
                return _with_lambda_as_def(source, tree, node, function)
            case ast.ClassDef() if _method_of(node):
                return _with_lifted_method(source, node)
    return _renamed(source, tree)


def _refuse(message: str) -> NoReturn:
    raise CandidateError(FailureCode.SIGNATURE, message)


def _is_plain(args: ast.arguments) -> bool:
    return not (args.vararg or args.kwarg or args.kwonlyargs or args.defaults)


def _has_three(args: ast.arguments) -> bool:
    return _is_plain(args) and len(args.posonlyargs) + len(args.args) == 3


def check_signature(tree: ast.Module) -> None:
    """Check that the module ends up with a `compute_reward` of three plain parameters.

    Raises:
        CandidateError: `SIGNATURE`, with the signature that was found.
    """
    entry = entry_of(tree)
    if entry is None:
        _refuse(f"the code must define {WANTED} at top level")
    if not _has_three(entry.args):
        found = f"{ENTRY}({ast.unparse(entry.args)})"
        _refuse(f"found {found}, but it must be {WANTED}: three parameters, no defaults, no * or **")
    if entry.decorator_list:
        _refuse(f"{ENTRY} must not be decorated")


def _without_self(source: str, function: ast.FunctionDef) -> str:
    """Drop a first parameter `self` that a function does not use."""
    args = function.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    if len(names) != 4 or names[0] not in ("self", "cls"):
        return source
    if names[0] in loaded_names(*function.body):
        _refuse(f"{ENTRY} uses {names[0]}; write a plain function {WANTED} without a class")
    lines = source.split("\n")
    start = function.lineno - 1
    head = "\n".join(lines[start:])
    head = re.sub(r"(\bdef\s+\w+\s*\(\s*)(?:self|cls)\b[^,()]*,\s*", r"\1", head, count=1)
    return "\n".join([*lines[:start], head])


def _method_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    for name in (ENTRY, "__call__"):
        named = [method for method in methods if method.name == name]
        if named:
            return named[-1]
    rewards = [method for method in methods if "reward" in method.name.lower()]
    return rewards[0] if len(rewards) == 1 else None


def _with_lifted_method(source: str, node: ast.ClassDef) -> str:
    method = _method_of(node)
    assert method is not None
    lines = source.split("\n")
    margin = method.col_offset
    body = [
        line if line[:margin].strip() else line[margin:]
        for line in lines[method.lineno - 1 : method.end_lineno]
    ]
    start, end = first_line(node) - 1, node.end_lineno
    body[0] = re.sub(r"\bdef\s+\w+", f"def {ENTRY}", body[0], count=1)
    lifted = "\n".join([*lines[:start], *body, *lines[end:]])
    entry = entry_of(parse(lifted))
    if entry is None:
        _refuse(f"{ENTRY} stands in a class; write a plain function {WANTED}")
    if node.name in loaded_names(entry):
        _refuse(f"{ENTRY} uses its class {node.name}; write a plain function {WANTED} without a class")
    return _without_self(lifted, entry)


def _with_lambda_as_def(source: str, tree: ast.Module, node: ast.Assign, function: ast.Lambda) -> str:
    body = ast.get_source_segment(source, function.body) or ast.unparse(function.body)
    made = f"def {ENTRY}({ast.unparse(function.args)}):\n    return ({body})"
    rest = without(source, tree, [node])
    return f"{rest}\n\n\n{made}".strip("\n")


def _renamed(source: str, tree: ast.Module) -> str:
    """Give the one function that can be meant its right name, also where it calls itself."""
    functions = [node for node in tree.body if isinstance(node, AnyFunction)]
    fitting = [node for node in functions if isinstance(node, ast.FunctionDef) and _has_three(node.args)]
    if len({node.name for node in fitting}) > 1:
        fitting = [node for node in fitting if "reward" in node.name.lower()]
    if len({node.name for node in fitting}) != 1 or ENTRY in bound_names(*functions):
        _refuse_what_is_there(tree, functions)
    name = fitting[0].name
    lines = [line.encode() for line in source.split("\n")]
    places = [
        (node.lineno, node.col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name
    ]
    for line, column in sorted(places, reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + ENTRY.encode() + text[column + len(name.encode()) :]
    for node in fitting:
        lines[node.lineno - 1] = re.sub(
            rb"\bdef\s+" + re.escape(name.encode()), b"def " + ENTRY.encode(), lines[node.lineno - 1], count=1
        )
    return b"\n".join(lines).decode()


def _refuse_what_is_there(
    tree: ast.Module, functions: list[ast.FunctionDef | ast.AsyncFunctionDef]
) -> NoReturn:
    nested = {n.name for n in ast.walk(tree) if isinstance(n, AnyFunction | ast.ClassDef)}
    if not nested and not any(isinstance(node, ast.Lambda) for node in ast.walk(tree)):
        raise NoDefinition
    if ENTRY in nested:
        _refuse(f"{ENTRY} must stand at top level, not inside another function or class: write {WANTED}")
    found = ", ".join(f"{node.name}({ast.unparse(node.args)})" for node in functions[-5:])
    _refuse(f"the code must define {WANTED}; found only {found or 'other definitions'}")


def _with_missing(source: str, elsewhere: Mapping[str, str]) -> str:
    """Put before the source what it reads, or may have, and what only another block of the answer defines."""
    added: set[str] = set()
    whole = source
    for _ in range(_MAX_ROUNDS if elsewhere else 0):
        tree = parse(whole)
        wanted = unknown_names(tree) | ({POTENTIAL} - bound_names(tree))
        new = {elsewhere[name] for name in wanted & elsewhere.keys()} - added
        if not new:
            break
        added |= new
        whole = "\n\n\n".join([*dict.fromkeys(t for t in elsewhere.values() if t in added), source])
    return whole


def _undecorated(source: str) -> str:
    """Drop decorators that nothing in the source defines."""
    tree = parse(source)
    known = bound_names(*(node for node in tree.body if isinstance(node, ast.FunctionDef)))
    lines = source.split("\n")
    gone: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and loaded_names(*node.decorator_list).isdisjoint(known):
            gone |= set(range(first_line(node), node.lineno))
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in gone)


def _without_extras(source: str) -> str:
    """Drop demonstrations, and imports that only annotations or demonstrations need."""
    tree = parse(source)
    imports = {node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)}
    functions = {node for node in tree.body if isinstance(node, ast.FunctionDef)}
    last = max((node.lineno for node in functions if node.name == ENTRY), default=0)
    kept: set[ast.stmt] = {n for n in functions if n.lineno <= last or not n.name.startswith(_DEMO_NAMES)}
    others = set(tree.body) - kept - imports
    changes = {node: _changes(node) for node in others if not _is_script(node)}
    for _ in range(_MAX_ROUNDS):
        running = free_names(kept)
        needed = {node for node, names in changes.items() if names & running} - kept
        if not needed:
            break
        kept |= needed
    aliases = bound_names(*(node for node in imports if _is_for_annotations(node)))
    extras = {node for node in others - kept if not _is_harmless(node, last, aliases)}
    demonstrated = free_names(extras)
    unused = {
        node
        for node in imports
        if bound_names(node).isdisjoint(running)
        and (_is_for_annotations(node) or not bound_names(node).isdisjoint(demonstrated))
    }
    return without(source, tree, extras | unused)


def _changes(node: ast.stmt) -> set[str]:
    """Return the names that a statement binds, and those whose objects it changes."""
    names = bound_names(node)
    for child in running_nodes(node):
        match child:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                names.add(name)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                names |= {name} - _LIBRARIES
    return names


def _is_for_annotations(node: ast.stmt) -> bool:
    match node:
        case ast.ImportFrom(module=module):
            return module in _ANNOTATION_MODULES
        case ast.Import(names=names):
            return all(alias.name in _ANNOTATION_MODULES for alias in names)
    return False


def _is_script(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in loaded_names(node.test)


def _is_harmless(node: ast.stmt, last_definition: int, aliases: set[str]) -> bool:
    """Tell whether a statement that nothing needs may stay: a constant, a docstring."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    calls = any(isinstance(child, ast.Call) for child in running_nodes(node))
    is_demo = node.lineno > last_definition and (calls or not loaded_names(node) <= _LIBRARIES)
    return not is_demo and loaded_names(node).isdisjoint(aliases)
