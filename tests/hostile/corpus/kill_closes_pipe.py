# kind: closes every descriptor
# entry: raw
# expect: protocol|exited|crashed|timeout
# control: none: it only hurts itself
import ctypes
import os

import numpy as np

libc = ctypes.CDLL(None, use_errno=True)


def act():
    if not BOUNDED:
        libc.close_range(0, 1000, 0)
        for fd in range(1000):
            try:
                os.close(fd)
            except OSError:
                pass
        raise SystemExit


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
