# kind: thread bomb
# entry: raw
# expect: denied
import os
import threading
import time

import numpy as np


def act():
    for _ in range(3 if BOUNDED else 10**6):
        threading.Thread(target=time.sleep, args=(0.05,), daemon=True).start()


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
