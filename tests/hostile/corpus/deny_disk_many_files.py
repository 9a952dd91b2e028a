# kind: disk fill in many files
# entry: raw
# expect: denied
import os

import numpy as np


def act():
    for number in range(20 if BOUNDED else 100_000):
        open(f"fill{number}", "wb").close()


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
