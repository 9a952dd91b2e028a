# kind: memory bomb that goes on after each refusal
# entry: raw
# expect: timeout
import os

import numpy as np


def act():
    held = []
    while not BOUNDED or len(held) < 24:
        try:
            held.append(np.ones(2**20))
        except MemoryError:
            pass


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
