# kind: import that is not accepted
# entry: static
# expect: forbidden
# line: 5
import os

def compute_reward(state, action, next_state):
    return -next_state.speed, {}
