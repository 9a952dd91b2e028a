# kind: prints 1 GB at once
# entry: raw
# expect: output_flood
import os

import numpy as np


def act():
    text = b"x" * (1000 if BOUNDED else 2**20)
    for _ in range(1 if BOUNDED else 1000):
        os.write(2, text)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
