# kind: shared anonymous mmap bomb
# entry: raw
# expect: denied
import mmap
import os

import numpy as np


def act():
    held = [mmap.mmap(-1, 2**24) for _ in range(2 if BOUNDED else 1000)]


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
