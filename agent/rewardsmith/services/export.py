"""Writes a reward as one plain Python file that needs nothing of rewardsmith."""

import ast
import re
import textwrap

from rewardsmith.contract.parsing import parse_python
from rewardsmith.contract.sources import STATE_FILE_SOURCE, extraction_code
from rewardsmith.contract.static_checks import prepare_source
from rewardsmith.services.tasks.schema import Task

_HEADER = '''"""Reward for the task {task}.

Goal: {goal}
{note}{origin}. It was run in a sandbox while it was made; this file runs with
your rights. Read it before you use it.

Needs NumPy; Gymnasium only for `RewardWrapper`:

    env = RewardWrapper(gymnasium.make(...))

`compute_reward(state, action, next_state)` works on batches: `state` and `next_state` hold named arrays of
shape (n, ...), `action` has shape (n, action_dim), the answer is ((n,), {{component: (n,)}}).
"""

from __future__ import annotations

import math

import numpy as np

ACTION_REPEAT = {action_repeat}
"""Simulation steps for which each action was kept when this reward was made."""

STATE_FIELDS = {fields}
"""Name and shape of each part of the state vector, in order."""
'''

_HELPERS = '''
class NamedState:
    """The parts of a batch of state vectors, by name."""

    def __init__(self, vectors, terminated=None):
        start = 0
        for name, shape in STATE_FIELDS:
            size = int(np.prod(shape))
            setattr(self, name, vectors[:, start : start + size].reshape(len(vectors), *shape))
            start += size
        if terminated is not None:
            self.terminated = terminated


{reward_of_step}


try:
    import gymnasium
except ImportError:
    gymnasium = None

if gymnasium is not None:

    class RewardWrapper(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
        """Gives an environment this reward; its own one moves to info["original_reward"].

        Wrap the environment itself, before any wrapper that changes its observations.
        """

        def __init__(self, env):
            gymnasium.utils.RecordConstructorArgs.__init__(self)
            super().__init__(env)

        def reset(self, *, seed=None, options=None):
            """Reset and take up the first state."""
            obs, info = self.env.reset(seed=seed, options=options)
            self._state = extract_state(obs, info, self.env)
            return obs, info

        def step(self, action):
            """Step and answer with this reward."""
            obs, original, terminated, truncated, info = self.env.step(action)
            next_state = extract_state(obs, info, self.env)
            space = self.action_space
            if isinstance(space, gymnasium.spaces.Box):
                applied = np.clip(action, space.low, space.high).astype(np.float64)
            else:
                applied = np.asarray(action, dtype=np.int64)
            reward, components = reward_of_step(self._state, applied, next_state, terminated)
            self._state = next_state
            info["original_reward"] = original
            info["reward_components"] = components
            return obs, reward, terminated, truncated, info
'''


_REWARD_OF_STEP = '''\
def reward_of_step(state, action, next_state, terminated):
    """Return the reward and its components of one step, from two state vectors and the action."""
    total, components = compute_reward(
        NamedState(state[None]),
        np.atleast_1d(np.asarray(action)).reshape(1, -1),
        NamedState(next_state[None], np.array([bool(terminated)])),
    )
    return float(total[0]), {name: float(value[0]) for name, value in components.items()}
'''

_SHAPING_NOTE = """\
It shapes a sparse reward: `RewardWrapper` and `reward_of_step` give GAMMA * potential(s') - potential(s),
with zero for s' where the episode terminated. Add your task's success to it; the best policies stay the best.
"""

_SHAPING_GAMMA = '''
GAMMA = {gamma:g}
"""The learner's discount; shaping leaves the best policies as they are only for a learner with the same."""
'''

_SHAPING_OF_STEP = '''\
def reward_of_step(state, action, next_state, terminated):
    """Return the shaping term of one step, and that it is the only component, from two state vectors."""
    before, after = (float(potential(NamedState(s[None]))[0]) for s in (state, next_state))
    term = GAMMA * (0.0 if terminated else after) - before
    return term, {"shaping": term}
'''


def render_reward_file(task: Task, source: str, origin: str, *, shaping: bool = False) -> str:
    """Return the text of the file.

    Args:
        task: the task that the reward was made for; its state extraction is written into the file.
        source: the reward's code.
        origin: one line that says where it comes from.
        shaping: whether the reward is a potential, whose shaping term was added to the task's sparse success;
            the file then computes that term.
    """
    header = _HEADER.format(
        task=task.name,
        # It stands in a docstring, which it must not end.
        note=_SHAPING_NOTE if shaping else "",
        goal=textwrap.shorten(task.file.goal, 100, placeholder=" ...").translate({34: "'", 92: "/"}),
        origin=origin[:1].upper() + origin[1:],
        action_repeat=task.file.env.action_repeat,
        fields=_fields(task),
    )
    parts = [header]
    if shaping:
        parts.append(_SHAPING_GAMMA.format(gamma=task.file.training.gamma))
    if task.uses_state_file:
        parts.append((task.folder / STATE_FILE_SOURCE).read_text(encoding="utf-8"))
    of_step = _SHAPING_OF_STEP if shaping else _REWARD_OF_STEP
    helpers = _HELPERS.replace("{reward_of_step}", of_step.rstrip("\n"))
    parts += [extraction_code([(f.name, f.source) for f in task.file.state]), helpers]
    parts.insert(-1, _reward_code(source, taken=_bound_names("\n".join(parts))))
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _reward_code(source: str, taken: set[str]) -> str:
    """Return the reward's code, in a function of its own where one of its names is taken in the file."""
    # The file has made these imports already.
    lines = [line for line in prepare_source(source).strip().splitlines() if line != "pass"]
    code = "\n".join(lines)
    if re.search(r"\bnumpy\b", code):
        code = f"numpy = np\n\n\n{code}"
    if not taken & _bound_names(code):
        return code
    body = textwrap.indent(code, "    ")
    made = ", ".join(name for name in ("compute_reward", "potential") if name in _bound_names(code))
    return (
        f"def make_reward():\n"
        f'    """Keep the names of the reward apart from those of this file."""\n\n'
        f"{body}\n\n    return {made}\n\n\n{made} = make_reward()"
    )


def _bound_names(code: str) -> set[str]:
    """Return the names that a module binds at its top level."""
    names: set[str] = set()
    for node in parse_python(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        else:
            stored = (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            names |= {n.id for n in stored}
            names |= {n.name for n in ast.walk(node) if isinstance(n, ast.ClassDef)}
    return names


def _fields(task: Task) -> str:
    rows = [f'    ("{field.name}", {field.shape!r}),\n' for field in task.file.state]
    return "(\n" + "".join(rows) + ")"
