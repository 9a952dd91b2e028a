# kind: infinite loop
# entry: raw
# expect: timeout
import os

import numpy as np


def act():
    n = 0
    while not BOUNDED or n < 1000:
        n += 1


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
