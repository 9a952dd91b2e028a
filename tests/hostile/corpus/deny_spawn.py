# kind: spawn
# entry: raw
# expect: denied
import os
import subprocess

import numpy as np


def act():
    subprocess.run(['/bin/true'], check=True)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
