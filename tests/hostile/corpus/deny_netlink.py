# kind: netlink socket
# entry: raw
# expect: denied
import os
import socket

import numpy as np


def act():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
