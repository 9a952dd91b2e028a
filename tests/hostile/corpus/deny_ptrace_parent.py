# kind: ptrace by a system call on its parent
# entry: raw
# expect: denied
import ctypes
import os
import time

import numpy as np

libc = ctypes.CDLL(None, use_errno=True)


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def act():
    target = os.getppid()
    if BOUNDED:
        target = os.fork()
        if target == 0:
            time.sleep(5)
            os._exit(0)
    try:
        call(libc.ptrace(0x4206, target, None, None))
    finally:
        if BOUNDED:
            os.kill(target, 9)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
