# kind: swallows BaseException and ignores signals
# entry: raw
# expect: timeout
import os
import signal

import numpy as np


def act():
    for number in (signal.SIGTERM, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGINT):
        try:
            signal.signal(number, signal.SIG_IGN)
        except BaseException:
            if BOUNDED:
                raise
    while not BOUNDED:
        try:
            while True:
                pass
        except BaseException:
            pass


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
