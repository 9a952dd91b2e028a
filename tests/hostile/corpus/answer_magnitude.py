# kind: magnitude over 1e6
# entry: checked
# expect: magnitude
def compute_reward(state, action, next_state):
    return next_state.speed * 0 - 2e6, {}
