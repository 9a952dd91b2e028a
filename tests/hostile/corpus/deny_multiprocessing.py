# kind: process by multiprocessing
# entry: raw
# expect: denied
import multiprocessing
import os

import numpy as np


def act():
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
