"""What a candidate may reach of NumPy and math: their functions, never a module that leads on to others.

A reward that is exported runs without a box. So a module is only ever the base of an attribute, which is then
looked up in the library itself: no other name for it, no way through it to what it has imported.
"""

import ast
import math
from types import ModuleType

import numpy as np

MODULE_NAMES = frozenset({"np", "numpy", "math"})
_SUBMODULES = frozenset({"linalg", "fft"})
_FORBIDDEN_WORDS = """
DataSource char core ctypeslib distutils dtypes f2py from_dlpack fromfile fromregex frompyfunc genfromtxt
get_include info lib load loadtxt lookfor ma memmap nditer random rec save savetxt savez savez_compressed
set_printoptions setbufsize seterr seterrcall show_config show_runtime source test testing typing
"""
_FORBIDDEN = frozenset(_FORBIDDEN_WORDS.split())


def module_objection(node: ast.AST, bases: set[int]) -> str | None:
    """Return why a node must not stand in a candidate's code, as far as it is about modules.

    Args:
        node: any node.
        bases: `id` of every node whose attribute is taken.
    """
    if isinstance(node, ast.Name) and node.id in MODULE_NAMES and id(node) not in bases:
        return f"{node.id} itself is not a value; write {node.id}.something"
    if not isinstance(node, ast.Attribute):
        return None
    if isinstance(node.value, ast.Name) and node.value.id in MODULE_NAMES:
        module = math if node.value.id == "math" else np
        return _attribute_objection(module, node.value.id, node, is_base=id(node) in bases)
    if _is_submodule(node.value):
        assert isinstance(node.value, ast.Attribute)
        inner: ModuleType = getattr(np, node.value.attr)
        if node.attr not in inner.__all__:
            return f"np.{node.value.attr}.{node.attr} is not allowed"
        return _attribute_objection(inner, f"np.{node.value.attr}", node, is_base=False)
    return None


def _attribute_objection(module: ModuleType, shown: str, node: ast.Attribute, *, is_base: bool) -> str | None:
    name = node.attr
    if name in _FORBIDDEN:
        return f"{shown}.{name} is not allowed"
    if isinstance(getattr(module, name, None), ModuleType) and not (
        module is np and name in _SUBMODULES and is_base
    ):
        return f"{shown}.{name} is not allowed: it is a module"
    return None


def _is_submodule(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in _SUBMODULES
        and isinstance(node.value, ast.Name)
        and node.value.id in MODULE_NAMES
    )
