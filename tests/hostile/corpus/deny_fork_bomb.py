# kind: fork bomb
# entry: raw
# expect: denied
import os

import numpy as np


def act():
    for _ in range(3 if BOUNDED else 10**6):
        if os.fork() == 0:
            os._exit(0)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
