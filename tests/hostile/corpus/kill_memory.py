# kind: memory bomb
# entry: raw
# expect: memory
import numpy as np


def act():
    held = []
    try:
        while not BOUNDED or len(held) < 24:
            held.append(np.ones(2**20))
    except MemoryError:
        held.clear()
        raise KeyboardInterrupt from None


def compute_reward(state, action, next_state):
    try:
        act()
    except KeyboardInterrupt:
        raise MemoryError from None
    return np.ones(len(action)), {}
