# kind: changes flags of a descriptor
# entry: raw
# expect: denied
import fcntl
import os

import numpy as np


def act():
    fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
