# kind: reads the program's own files
# entry: raw
# expect: denied
import os

import numpy as np


def act():
    open(np.__file__).read()


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
