# kind: makes its inputs writable by mprotect
# entry: raw
# expect: denied
# control: none: the kernel refuses it for a file opened read-only, locked or not
import ctypes

import numpy as np

libc = ctypes.CDLL(None, use_errno=True)


def compute_reward(state, action, next_state):
    page = action.ctypes.data & ~4095
    done = libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(4096), 3) == 0
    return np.full(len(action), float(done)), {}
