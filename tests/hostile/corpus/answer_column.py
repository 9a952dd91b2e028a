# kind: (n, 1) instead of (n,)
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed[:, None], {}
