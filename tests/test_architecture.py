"""Arrows point down: who imports whom, how long a module may be, who prints, what is imported late."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

PACKAGE = "rewardsmith"
SOURCE_ROOT = Path(__file__).parents[1] / "agent"
MAX_LINES = 350

BASE = ("contract", "types", "config", "errors", "seeds", "resources", "arrays", "trajectories")

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "__main__": ("cli",),
    "cli": ("cli", "campaign", "loop", "stages", "services", *BASE),
    "campaign": ("campaign", "loop", "stages", "services", *BASE),
    "loop": ("loop", "stages", "services", *BASE),
    "stages": ("stages", "services", *BASE),
    # Of the worker, services know the wire: frames, names, probes. What they start, they start by name.
    "services": (
        "services",
        *BASE,
        "worker.forkserver",
        "worker.reward.frame",
        "worker.reward.namespace",
        "worker.reward.probes",
    ),
    **dict.fromkeys(BASE, (*BASE, "worker.reward.frame", "worker.reward.namespace")),
    "worker": (
        "worker",
        "services.tasks.schema",
        "services.sandbox.base",
        "services.sandbox.client",
        "services.sandbox.cores",
        "contract",
        "types",
        "errors",
        "arrays",
        "trajectories",
    ),
    "worker.forkserver": (),
    # A reward process holds nothing but Python, NumPy and its own few modules.
    "worker.reward": ("worker.reward", "worker.forkserver"),
}
"""What each part may import, by the longest part that a module's name begins with."""

HEAVY = frozenset(
    {"torch", "gymnasium", "stable_baselines3", "metaworld", "mujoco", "litellm", "openai", "docker"}
)
HEAVY_ALLOWED = ("worker.trainer",)

PRINTS = ("__main__", "cli")
PRINTS_TO_STDERR = ("worker.reward.zygote", "worker.trainer.zygote")


@dataclass(frozen=True)
class Import:
    """One imported name: the longest part of it is a module, the rest may be something in it."""

    name: str
    line: int
    at_start: bool
    """Whether it runs when the module is imported."""


@dataclass(frozen=True)
class Module:
    """A source file of the package."""

    name: str
    """Without the package's own name; empty for the package itself."""
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> list[Import]:
        return list(self._imports(self.tree, at_start=True))

    def place(self, line: int) -> str:
        return f"{PACKAGE}.{self.name}:{line}".replace(".:", ":")

    def _imports(self, node: ast.AST, at_start: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(a.name, child.lineno, at_start) for a in child.names)
            elif isinstance(child, ast.ImportFrom):
                origin = self._origin(child)
                yield from (Import(f"{origin}.{a.name}", child.lineno, at_start) for a in child.names)
            else:
                is_late = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or _is_for_types(child)
                yield from self._imports(child, at_start and not is_late)

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = [PACKAGE, *filter(None, self.name.split("."))]
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *filter(None, [node.module])])


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def modules_of(root: Path) -> dict[str, Module]:
    found = {}
    for file in sorted((root / PACKAGE).rglob("*.py")):
        parts = file.relative_to(root / PACKAGE).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found[name] = Module(name, file.read_text(encoding="utf-8"), is_package)
    return found


def _starts(name: str, parts: tuple[str, ...]) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in parts)


def _target(imported: Import, modules: Mapping[str, Module]) -> str | None:
    """Return the module of ours that is imported, or None."""
    package, _, name = imported.name.partition(".")
    if package != PACKAGE:
        return None
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def arrows_up(modules: Mapping[str, Module]) -> list[str]:
    """Return every import that its part may not make."""
    faults = []
    for module in modules.values():
        part = max((p for p in MAY_IMPORT if _starts(module.name, (p,))), key=len, default=None)
        if part is None and module.name:
            faults.append(f"{module.place(1)} stands in no layer; add it to MAY_IMPORT")
        allowed = MAY_IMPORT[part] if part else ()
        for imported in module.imports:
            target = _target(imported, modules)
            # The package itself holds nothing but its version.
            if target and not _starts(target, allowed):
                faults.append(
                    f"{module.place(imported.line)} imports {target}; "
                    f"{part or PACKAGE} may import {', '.join(allowed) or 'nothing of ours'}"
                )
    return faults


def cycles(modules: Mapping[str, Module]) -> list[str]:
    """Return one line for each import cycle; late imports count as well."""
    arrows = {
        m.name: sorted({t for i in m.imports if (t := _target(i, modules)) and t != m.name})
        for m in modules.values()
    }
    found: dict[frozenset[str], str] = {}
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            circle = path[path.index(name) :]
            found.setdefault(frozenset(circle), " -> ".join([*circle, name]))
        elif name not in done:
            for target in arrows[name]:
                visit(target, [*path, name])
            done.add(name)

    for name in arrows:
        visit(name, [])
    return sorted(found.values())


def too_long(modules: Mapping[str, Module]) -> list[str]:
    """Return every module with more lines than one sitting takes to read."""
    lengths = {m.name: len(m.text.splitlines()) for m in modules.values()}
    return [
        f"{PACKAGE}.{name} has {n} lines, at most {MAX_LINES}" for name, n in lengths.items() if n > MAX_LINES
    ]


def prints(modules: Mapping[str, Module]) -> list[str]:
    """Return every `print` outside the command line."""
    return [
        f"{module.place(node.lineno)} prints; only the command line does, others use logging"
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        if not _starts(module.name, PRINTS)
        if not (_starts(module.name, PRINTS_TO_STDERR) and _goes_to_stderr(node))
    ]


def _goes_to_stderr(call: ast.Call) -> bool:
    return any(k.arg == "file" and ast.unparse(k.value) == "sys.stderr" for k in call.keywords)


def heavy_imports(modules: Mapping[str, Module]) -> list[str]:
    """Return every import of a slow library that runs as soon as its module is imported."""
    return [
        f"{module.place(i.line)} imports {i.name.partition('.')[0]} at its start; "
        "import it inside the function that needs it"
        for module in modules.values()
        if not _starts(module.name, HEAVY_ALLOWED)
        for i in module.imports
        if i.at_start and i.name.partition(".")[0] in HEAVY
    ]


def strangers_in_the_box(modules: Mapping[str, Module]) -> list[str]:
    """Return every library but NumPy that the code of a reward process imports."""
    known = {*sys.stdlib_module_names, "numpy", PACKAGE}
    return [
        f"{module.place(i.line)} imports {i.name}; a reward process holds Python and NumPy alone"
        for module in modules.values()
        if _starts(module.name, ("worker.reward", "worker.forkserver"))
        for i in module.imports
        if i.name.partition(".")[0] not in known
    ]


RULES = (arrows_up, cycles, too_long, prints, heavy_imports, strangers_in_the_box)


@pytest.fixture(scope="module")
def package() -> dict[str, Module]:
    return modules_of(SOURCE_ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule, package):
    faults = rule(package)
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def test_every_module_is_looked_at(package):
    assert {"", "loop.search", "stages.preference", "worker.reward.server", "services.sandbox"} <= set(
        package
    )


def fake(**sources: str) -> dict[str, Module]:
    """Return modules by name; `__` in a keyword stands for a dot, a trailing `_` for a package."""
    names = {key: key.rstrip("_").replace("__", ".") for key in sources}
    return {names[k]: Module(names[k], text, k.endswith("_")) for k, text in sources.items()}


@pytest.mark.parametrize(
    ("importer", "line", "target"),
    [
        ("stages__a", "from rewardsmith.loop.b import run", "loop__b"),
        ("services__a", "import rewardsmith.stages.b", "stages__b"),
        ("services__a", "from rewardsmith.worker.trainer import b", "worker__trainer__b"),
        ("services__a", "from rewardsmith.worker.reward.server import x", "worker__reward__server"),
        ("contract__a", "from rewardsmith.services.b import x", "services__b"),
        ("types", "from rewardsmith.services.b import x", "services__b"),
        ("loop__a", "def f():\n    from rewardsmith.cli import b", "cli__b"),
        ("loop__a", "from ..cli import b", "cli__b"),
        ("worker__trainer__a", "from rewardsmith.services.journal.b import x", "services__journal__b"),
        ("worker__trainer__a", "from rewardsmith.config import x", "config"),
        ("worker__reward__a", "from rewardsmith.types import x", "types"),
        ("worker__forkserver", "from rewardsmith.errors import x", "errors"),
    ],
)
def test_an_arrow_that_points_up_is_found(importer, line, target):
    (fault,) = arrows_up(fake(**{importer: line, target: ""}))
    assert f"imports {target.replace('__', '.')};" in fault


@pytest.mark.parametrize(
    ("importer", "line", "target"),
    [
        ("cli__a", "from rewardsmith.loop.b import run", "loop__b"),
        ("loop__a", "from rewardsmith import __version__\nfrom rewardsmith.types import X", "types"),
        ("services__a", "from rewardsmith.worker.reward.frame import X", "worker__reward__frame"),
        ("worker__trainer__a", "from rewardsmith.services.tasks.schema import X", "services__tasks__schema"),
        ("worker__reward__a", "from rewardsmith.worker import forkserver", "worker__forkserver"),
    ],
)
def test_an_arrow_that_points_down_is_let_through(importer, line, target):
    assert arrows_up(fake(**{importer: line, target: ""})) == []


def test_a_module_outside_every_layer_is_found():
    (fault,) = arrows_up(fake(helpers=""))
    assert "stands in no layer" in fault


def test_a_cycle_is_found_even_through_a_late_import():
    circle = fake(
        stages__a="from rewardsmith.stages.b import x",
        stages__b="def f():\n    from rewardsmith.stages import c",
        stages__c="import rewardsmith.stages.a",
        stages__d="from rewardsmith.stages.a import y",
    )
    assert cycles(circle) == ["stages.a -> stages.b -> stages.c -> stages.a"]


def test_a_module_that_is_too_long_is_found():
    (fault,) = too_long(fake(stages__a="x = 1\n" * (MAX_LINES + 1), stages__b="x = 1\n" * MAX_LINES))
    assert "rewardsmith.stages.a has 351 lines" in fault


def test_a_print_outside_the_command_line_is_found():
    sources = fake(
        cli__a="print(1)",
        stages__a='TEXT = "print(1)"\n\ndef f():\n    print(1)',
        worker__trainer__zygote="print(1, file=sys.stderr)\nprint(2)",
    )
    faults = prints(sources)
    assert [fault.split()[0] for fault in faults] == [
        "rewardsmith.stages.a:4",
        "rewardsmith.worker.trainer.zygote:2",
    ]


def test_a_heavy_import_at_a_module_s_start_is_found():
    sources = fake(
        stages__a="try:\n    import torch.nn\nexcept ImportError:\n    torch = None",
        stages__b="def f():\n    import torch",
        stages__c="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch",
        worker__trainer__d="from stable_baselines3 import PPO",
    )
    (fault,) = heavy_imports(sources)
    assert fault.startswith("rewardsmith.stages.a:2 imports torch")


def test_a_library_in_the_reward_process_is_found():
    sources = fake(
        worker__reward__a="def f():\n    import pydantic", worker__reward__b="import os\nimport numpy.linalg"
    )
    (fault,) = strangers_in_the_box(sources)
    assert fault.startswith("rewardsmith.worker.reward.a:2 imports pydantic")
