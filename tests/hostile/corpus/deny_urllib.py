# kind: HTTP request
# entry: raw
# expect: denied
import os
import urllib.error
import urllib.request

import numpy as np


def act():
    try:
        urllib.request.urlopen("http://127.0.0.1:9/", timeout=1)
    except urllib.error.URLError as error:
        if not isinstance(error.reason, ConnectionRefusedError):
            raise


def compute_reward(state, action, next_state):
    try:
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
        return np.zeros(len(action)), {}
    return np.ones(len(action)), {}
