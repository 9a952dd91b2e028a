# kind: os._exit(0) without an answer
# entry: raw
# expect: exited
import os

import numpy as np


def act():
    if not BOUNDED:
        os._exit(0)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
