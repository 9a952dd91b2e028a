# kind: ordinary code passes
# entry: checked
# expect: answers
"""A docstring."""
import numpy as np
import math

SCALE: float = 5.0


def helper(values: np.ndarray, sharpness: float = 2.0) -> np.ndarray:
    """Squash."""
    return np.exp(-sharpness * values)


def compute_reward(state: "State", action: Any, next_state) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    import math
    distance: np.ndarray = np.linalg.norm(next_state.pos - next_state.goal, axis=-1)
    parts = {"reach": helper(distance)}
    parts["reach"] += 1
    square = lambda x: x ** 2
    parts["effort"] = -0.01 * sum(square(action[:, i]) for i in range(action.shape[1]))
    if (most := float(np.max(distance))) > 1e9:
        raise ValueError(f"far: {most:.2f} {SCALE!r}")
    match action.shape[1]:
        case 1:
            weight = 1.0
        case width:
            weight = math.sqrt(width)
    def clip(x):
        return np.clip(x, -10, 10)
    names = [name for name in parts]
    try:
        weight = weight / 1.0
    except ZeroDivisionError as error:
        weight = 0.0
    with np.errstate(all="ignore"):
        total = clip(sum(parts[name] for name in names)) * weight
    total = np.where(next_state.terminated, 0.0, total)
    return total, parts


def potential(state):
    return -np.linalg.norm(state.pos - state.goal, axis=-1)
