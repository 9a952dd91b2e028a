# kind: prints without end
# entry: raw
# expect: output_flood
import os

import numpy as np


def act():
    n = 0
    while not BOUNDED or n < 10:
        print("x" * 100)
        n += 1


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
