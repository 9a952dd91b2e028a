# kind: components that are no dict
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, [next_state.speed]
