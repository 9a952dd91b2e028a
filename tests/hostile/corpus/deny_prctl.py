# kind: makes itself dumpable
# entry: raw
# expect: denied
import ctypes
import os

import numpy as np

libc = ctypes.CDLL(None, use_errno=True)


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def act():
    call(libc.prctl(4, 1, 0, 0, 0))


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
