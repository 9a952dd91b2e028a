# kind: import that is not accepted
# entry: static
# expect: forbidden
# line: 5
from os import path

def compute_reward(state, action, next_state):
    return -next_state.speed, {}
