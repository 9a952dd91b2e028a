# kind: reads every environment
# entry: raw
# expect: denied
import glob
import os

import numpy as np


def act():
    found = glob.glob("/proc/[0-9]*/environ")
    assert found
    opened = 0
    for path in found:
        try:
            open(path, "rb").close()
            opened += 1
        except OSError:
            pass
    if not opened:
        raise OSError("refused")


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
