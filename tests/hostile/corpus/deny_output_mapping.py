# kind: maps its output to write without limit
# entry: raw
# expect: denied
import mmap
import os

import numpy as np


def act():
    os.write(1, b"x")
    mmap.mmap(1, 1)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
