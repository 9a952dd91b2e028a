# kind: burns its CPU allowance
# entry: raw
# expect: cpu_limit
# limits: call_timeout_s=8 cpu_s=1
import os
import time

import numpy as np


def act():
    end = time.monotonic() + 0.01
    while not BOUNDED or time.monotonic() < end:
        pass


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
