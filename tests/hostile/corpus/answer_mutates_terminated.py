# kind: mutates the terminated flags
# entry: checked
# expect: raised
def compute_reward(state, action, next_state):
    next_state.terminated[0] = True
    return next_state.speed, {}
