"""How a state field is read from an environment, as one Python expression of `obs`, `info` and `env`.

The same text is compiled in the trainer and written into an exported reward file, so that both read alike.
"""

import keyword
import re
from collections.abc import Sequence

_NUMBER = r"-?(?:0|[1-9][0-9]{0,8})"
_INDEX = rf"\[(?:{_NUMBER}|(?:{_NUMBER})?:(?:{_NUMBER})?)\]"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_KEY = r"[A-Za-z0-9_][A-Za-z0-9_/ -]*"

_TAKEN = frozenset({"obs", "info", "env", "np", "extract_state"})
"""Names that the extraction itself uses, beside the functions of state.py."""

STATE_FILE_SOURCE = "state.py"
"""A field with this source is computed by the function of its name in the task's state.py."""

FORMS = (
    "obs, obs[a:b], obs[i], obs.key, obs.key.key, obs.key[a:b], info.key, info.key[a:b], mujoco.site.NAME, "
    "mujoco.body.NAME, mujoco.geom.NAME, mujoco.qpos[a:b], mujoco.qvel[a:b] or state.py"
)

_IN_MAPPING = re.compile(rf"(obs|info)((?:\.{_KEY})+)({_INDEX})?")
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"obs({_INDEX})?"), "obs{0}"),
    (re.compile(r"mujoco\.site\.([\w:/.-]+)"), 'env.unwrapped.data.site("{0}").xpos'),
    (re.compile(r"mujoco\.body\.([\w:/.-]+)"), 'env.unwrapped.data.body("{0}").xpos'),
    (re.compile(r"mujoco\.geom\.([\w:/.-]+)"), 'env.unwrapped.data.geom("{0}").xpos'),
    (re.compile(rf"mujoco\.(qpos|qvel|ctrl)({_INDEX})"), "env.unwrapped.data.{0}{1}"),
)


def source_expression(source: str, field_name: str) -> str:
    """Return the Python expression for one source.

    Raises:
        ValueError: the source has none of the known forms, or the name cannot be a function of state.py.
    """
    if source == STATE_FILE_SOURCE:
        if field_name in _TAKEN:
            raise ValueError(f"{field_name!r} is taken; name this field of {STATE_FILE_SOURCE} otherwise")
        return f"{field_name}(obs, info, env)"
    entry = _IN_MAPPING.fullmatch(source)
    if entry:
        keys = "".join(f'["{key}"]' for key in entry[2].removeprefix(".").split("."))
        return f"{entry[1]}{keys}{entry[3] or ''}"
    for pattern, template in _PATTERNS:
        match = pattern.fullmatch(source)
        if match:
            return template.format(*(group or "" for group in match.groups()))
    raise ValueError(f"unknown source {source!r}; use {FORMS}")


def check_field_name(name: str) -> str:
    """Return `name` if reward code can read it as an attribute.

    Raises:
        ValueError: it is no plain identifier, a keyword, or the reserved name `terminated`.
    """
    if not re.fullmatch(_NAME, name) or name.startswith("_") or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is not a plain Python name")
    if name == "terminated":
        raise ValueError("'terminated' is given to every reward as next_state.terminated; use another name")
    return name


def extraction_code(fields: Sequence[tuple[str, str]], function: str = "extract_state") -> str:
    """Return the source of `extract_state(obs, info, env) -> (state_dim,) float64`.

    Args:
        fields: `(field name, source)` in layout order.
        function: the name to define.
    """
    rows = "\n".join(f"            np.ravel({source_expression(source, name)})," for name, source in fields)
    return (
        f"def {function}(obs, info, env):\n"
        f'    """Return the state vector of one step, shape (state_dim,)."""\n'
        f"    return np.concatenate(\n        (\n{rows}\n        ),\n        dtype=np.float64,\n    )\n"
    )
