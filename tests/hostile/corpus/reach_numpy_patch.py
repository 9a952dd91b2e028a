# kind: monkeypatches NumPy in its own process
# entry: raw
# expect: answers
import numpy as np


def compute_reward(state, action, next_state):
    np.isfinite = lambda *_: True
    np.sum = np.norm = None
    return np.ones(len(action)), {}
