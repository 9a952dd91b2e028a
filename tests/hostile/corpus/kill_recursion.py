# kind: deep recursion without a limit
# entry: raw
# expect: memory|crashed|raised
# limits: call_timeout_s=8 cpu_s=8
import sys

import numpy as np


def dig(n):
    return 0 if n == 0 else 1 + dig(n - 1)


def compute_reward(state, action, next_state):
    sys.setrecursionlimit(10**9)
    dig(2000 if BOUNDED else 10**8)
    return np.ones(len(action)), {}
