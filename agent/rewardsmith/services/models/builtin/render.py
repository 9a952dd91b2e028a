"""From a genome to Python source that a person reads with pleasure."""

import keyword
import math
import re
import textwrap

import numpy as np

from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.services.models.builtin.terms import (
    CLOSE_SHAPES,
    Gate,
    Genome,
    Quantity,
    Shape,
    Term,
    round3,
)
from rewardsmith.services.models.builtin.wording import Phrase, phrase, sentence

_HELPERS = {
    "distance": '''\
def distance(a, b):
    """Return how far apart a and b are in each row; huge values are cut so that squares stay finite."""
    return np.linalg.norm(np.clip(a - b, -1e9, 1e9), axis=-1)
''',
    "gap": '''\
def gap(x, target):
    """Return how far x is from the target in each row, at most 1e9."""
    return np.minimum(np.abs(x - target), 1e9)
''',
    "above": '''\
def above(x, floor):
    """Return how far x is above the floor in each row, negative below it, cut at 1e9."""
    return np.clip(x - floor, -1e9, 1e9)
''',
}
_POTENTIAL = '''\
def potential(state):
    """Return the potential of each row's state."""
    return np.sum([*parts(state).values()], axis=0)


def compute_reward(state, action, next_state):
    """Return by how much the potential of each row rises, and each of its parts."""
    before, after = parts(state), parts(next_state)
    components = {name: after[name] - before[name] for name in after}
    return np.sum([*components.values()], axis=0), components
'''
_OWN_NAMES = {
    "np",
    "math",
    "state",
    "action",
    "next_state",
    "components",
    "compute_reward",
    "parts",
    "potential",
}
_TAKEN = {*_OWN_NAMES, *_HELPERS}
_NAME_LENGTH = 40


def render(genome: Genome, layout: StateLayout, action: ActionSpec) -> str:
    """Return source that defines `compute_reward` for the genome."""
    return _Renderer(layout, action).render(genome)


def render_potential(genome: Genome, layout: StateLayout, action: ActionSpec) -> str:
    """Return source that defines `potential`, and `compute_reward` as its difference, for the genome.

    Args:
        genome: made by `as_potential`.
        layout: the task's state layout.
        action: the task's action.
    """
    return _Renderer(layout, action, potential=True).render(genome)


def number(value: float) -> str:
    """Return a Python literal with three significant digits."""
    return repr(round3(value))


class _Names:
    """Hands out identifiers or component names, each once."""

    def __init__(self, taken: set[str], separator: str) -> None:
        self._taken = set(taken)
        self._separator = separator

    def new(self, wish: str) -> str:
        base = (
            re.sub(r"[^A-Za-z0-9_ ]", "", wish).lstrip("0123456789_ ")[:_NAME_LENGTH].rstrip("_ ") or "part"
        )
        name, count = base, 1
        while name in self._taken or keyword.iskeyword(name):
            count += 1
            suffix = f"{self._separator}{count}"
            name = base[: _NAME_LENGTH - len(suffix)] + suffix
        self._taken.add(name)
        return name


class _Renderer:
    """Collects the lines of one source."""

    def __init__(self, layout: StateLayout, action: ActionSpec, *, potential: bool = False) -> None:
        self._is_potential = potential
        self._now = "state" if potential else "next_state"
        self._fields = {field.name: field for field in layout.fields}
        self._action = action
        self._variables = _Names(_TAKEN, "_")
        self._components = _Names(set(), " ")
        self._helpers: set[str] = set()
        self._lines: list[str] = []
        self._known: dict[tuple[object, ...], str] = {}

    def render(self, genome: Genome) -> str:
        entries, sentences = [], []
        for term in genome.terms:
            said = phrase(term, self._fields)
            name = self._components.new(said.component)
            entries.append(f'        "{name}": {self._product(term, said)},')
            sentences.append(_bullet(sentence(name, term, self._fields)))
        helpers = [_HELPERS[name] for name in _HELPERS if name in self._helpers]
        head = [
            "def compute_reward(state, action, next_state):",
            '    """Return the reward of each row and its components.',
        ]
        tail = ["    return np.sum([*components.values()], axis=0), components"]
        if self._is_potential:
            head = ["def parts(state):", '    """Return the parts of the potential of each row\'s state.']
            tail = ["    return components"]
        body = [
            *head,
            "",
            *sentences,
            '    """',
            *(f"    {line}" for line in self._lines),
            "    components = {",
            *entries,
            "    }",
            *tail,
        ]
        rest = [_POTENTIAL] if self._is_potential else []
        return "\n\n".join([*helpers, "\n".join(body) + "\n", *rest])

    def _product(self, term: Term, said: Phrase) -> str:
        factors = [number(-term.weight if term.shape in ("linear", "effort") else term.weight)]
        if term.gate is not None:
            factors.append(self._close(term.gate, phrase(_as_term(term.gate), self._fields)))
        if term.quantity is not None and term.shape in CLOSE_SHAPES:
            gate = Gate(shape=term.shape, quantity=term.quantity, sharpness=term.sharpness)
            factors.append(self._close(gate, said))
        else:
            factors.append(
                self._factor((term.shape, term.quantity, term.sharpness, term.column, term.index), term, said)
            )
        return " * ".join(factors)

    def _close(self, gate: Gate, said: Phrase) -> str:
        gap = self._quantity(gate.quantity, said, self._now)
        k = number(gate.sharpness / gate.quantity.span)
        expressions: dict[Shape, str] = {
            "exp": f"np.exp(-{k} * {gap})",
            "tanh": f"1.0 - np.tanh({k} * {gap})",
            "tail": f"1.0 / (1.0 + np.square({k} * {gap}))",
            "within": f"np.where({gap} < {number(gate.quantity.span / gate.sharpness)}, 1.0, 0.0)",
        }
        return self._assign((gate.shape, gate.quantity, gate.sharpness), said.factor, expressions[gate.shape])

    def _factor(self, key: tuple[object, ...], term: Term, said: Phrase) -> str:
        if term.quantity is None:
            return self._assign(key, said.factor, self._plain(term))
        k = number(term.sharpness / term.quantity.span)
        after = self._quantity(term.quantity, said, self._now)
        # The slope of a potential may be as steep as that of an increment.
        most = "100.0" if self._is_potential else "10.0"
        if term.shape == "linear":
            expression = f"np.minimum({k} * {after}, {most})"
        elif term.shape == "value":
            expression = f"np.clip({k} * {after}, -{most}, {most})"
        else:
            before = self._quantity(term.quantity, said, "state")
            change = f"{before} - {after}" if term.shape == "progress" else f"{after} - {before}"
            # Bounded for a jump inside the simulator; never in ordinary motion, since increments must cancel
            # out on the way back, or going to and fro would pay.
            expression = f"np.clip({k} * ({change}), -100.0, 100.0)"
        return self._assign(key, said.factor, expression)

    def _plain(self, term: Term) -> str:
        if term.shape == "alive":
            return "np.where(next_state.terminated, 0.0, 1.0)"
        if term.shape == "ended":
            return "np.where(next_state.terminated, 1.0, 0.0)"
        if term.shape == "choice":
            return f"np.where(action[:, {term.column}] == {term.index}, 1.0, 0.0)"
        bounds = [abs(b) for b in (*(self._action.low or ()), *(self._action.high or ())) if math.isfinite(b)]
        largest = round3(max(bounds, default=1.0)) or 1.0
        scaled = "action" if largest == 1.0 else f"action / {number(largest)}"
        return f"np.mean(np.square(np.clip({scaled}, -3.0, 3.0)), axis=-1)"

    def _quantity(self, quantity: Quantity, said: Phrase, source: str) -> str:
        key = (quantity.kind, quantity.field, quantity.other, quantity.axes, quantity.target, source)
        name = said.quantity if source == self._now else f"{said.quantity}_before"
        return self._assign(key, name, self._reading(quantity, source))

    def _reading(self, quantity: Quantity, source: str) -> str:
        field = self._fields[quantity.field]
        here = f"{source}.{quantity.field}"
        if quantity.kind == "distance" and field.shape:
            self._helpers.add("distance")
            columns = _columns(quantity.axes, field)
            return f"distance({here}{columns}, {source}.{quantity.other}{columns})"
        if quantity.kind == "distance":
            self._helpers.add("gap")
            return f"gap({here}, {source}.{quantity.other})"
        if quantity.kind == "length":
            self._helpers.add("distance")
            return f"distance({here}, 0.0)"
        if quantity.axes:
            here += "[:, " + ", ".join(str(axis) for axis in quantity.axes) + "]"
        target = number(quantity.target)
        if quantity.kind == "angle":
            return f"1.0 - np.cos({here} - {target})" if quantity.target else f"1.0 - np.cos({here})"
        helper = "gap" if quantity.kind == "offset" else "above"
        self._helpers.add(helper)
        return f"{helper}({here}, {target})"

    def _assign(self, key: tuple[object, ...], wish: str, expression: str) -> str:
        """Return the variable that holds the expression, with a new line where none does yet."""
        if key not in self._known:
            self._known[key] = self._variables.new(wish)
            self._lines.append(f"{self._known[key]} = {expression}")
        return self._known[key]


def _as_term(gate: Gate) -> Term:
    return Term(shape=gate.shape, weight=1.0, quantity=gate.quantity, sharpness=gate.sharpness)


def _bullet(text: str) -> str:
    return textwrap.fill(text, width=100, initial_indent="    - ", subsequent_indent="      ")


def _columns(axes: tuple[int, ...], field: StateField) -> str:
    if not axes:
        return ""
    steps = np.diff(axes)
    if np.all(steps == 1):
        stop = axes[-1] + 1
        return f"[:, {axes[0] or ''}:{'' if stop == field.size else stop}]"
    return f"[:, {list(axes)}]"
