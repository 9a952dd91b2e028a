# kind: deep recursion
# entry: checked
# expect: raised
def compute_reward(state, action, next_state):
    return compute_reward(state, action, next_state)
