# kind: sleeps forever
# entry: raw
# expect: timeout
import os
import time

import numpy as np


def act():
    time.sleep(0.01 if BOUNDED else 1e6)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
