# kind: reads a field that is not there
# entry: checked
# expect: raised
def compute_reward(state, action, next_state):
    return next_state.velocity, {}
