# kind: infinity by division
# entry: checked
# expect: non_finite
def compute_reward(state, action, next_state):
    return 1.0 / (next_state.speed * 0.0), {}
