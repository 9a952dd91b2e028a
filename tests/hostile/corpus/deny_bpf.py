# kind: bpf
# entry: raw
# expect: denied
# control: optional: some systems forbid it
import ctypes
import errno
import os

import numpy as np

libc = ctypes.CDLL(None, use_errno=True)


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def act():
    libc.syscall(ctypes.c_long(321), 0, None, 0)
    if ctypes.get_errno() not in (errno.EFAULT, errno.EINVAL, errno.E2BIG):
        raise OSError(ctypes.get_errno(), "refused")


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
