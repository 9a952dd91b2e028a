# kind: magnitude near the end of float64
# entry: checked
# expect: magnitude
def compute_reward(state, action, next_state):
    return next_state.speed * 0 + 1e300, {}
