# kind: types into a terminal
# entry: raw
# expect: denied
import errno
import fcntl
import os

import numpy as np


def act():
    try:
        fcntl.ioctl(0, 0x5412, b"x")
    except OSError as error:
        if error.errno != errno.ENOTTY:
            raise


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
