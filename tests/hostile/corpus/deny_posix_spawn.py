# kind: posix_spawn
# entry: raw
# expect: denied
import os

import numpy as np


def act():
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
