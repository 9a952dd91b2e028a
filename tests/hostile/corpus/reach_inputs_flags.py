# kind: makes its inputs writable
# entry: raw
# expect: denied
# control: none: the memory is mapped read-only, locked or not
import numpy as np


def compute_reward(state, action, next_state):
    try:
        view = next_state.pos
        while view.base is not None and isinstance(view.base, np.ndarray):
            view = view.base
        view.flags.writeable = True
    except ValueError:
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
