# kind: ignores SIGXCPU and burns CPU
# entry: raw
# expect: cpu_limit
# limits: call_timeout_s=8 cpu_s=1
import os
import signal

import numpy as np


def act():
    try:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    except BaseException:
        if BOUNDED:
            raise
    while not BOUNDED:
        pass


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
