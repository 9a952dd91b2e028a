# kind: user namespace
# entry: raw
# expect: denied
# control: optional: some systems forbid it
import ctypes
import os

import numpy as np

libc = ctypes.CDLL(None, use_errno=True)


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def act():
    call(libc.unshare(0x10000000))


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
