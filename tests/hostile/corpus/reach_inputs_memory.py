# kind: writes its inputs by address
# entry: raw
# expect: crashed
# control: none: the memory is mapped read-only, locked or not
import ctypes
import os

import numpy as np


def compute_reward(state, action, next_state):
    ctypes.memset(next_state.pos.ctypes.data, 0, 8)
    return np.ones(len(action)), {}
