# kind: ctypes system()
# entry: raw
# expect: denied
import ctypes
import os

import numpy as np

libc = ctypes.CDLL(None, use_errno=True)


def act():
    if libc.system(b"true") != 0:
        raise OSError("refused")


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
