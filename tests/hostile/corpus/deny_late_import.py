# kind: imports a module from disk
# entry: raw
# expect: denied
import os
import sys

import numpy as np


def act():
    sys.modules.pop("this", None)
    import colorsys


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
