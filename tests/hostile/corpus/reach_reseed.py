# kind: reseeds global generators
# entry: raw
# expect: answers
import random

import numpy as np


def compute_reward(state, action, next_state):
    np.random.seed(0)
    random.seed(0)
    return np.ones(len(action)), {}
