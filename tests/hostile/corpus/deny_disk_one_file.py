# kind: disk fill in one file
# entry: raw
# expect: denied
import os

import numpy as np


def act():
    with open("fill", "wb") as file:
        for _ in range(2 if BOUNDED else 10**9):
            file.write(b"x" * 4096)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
