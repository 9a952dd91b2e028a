# kind: mutates its inputs in place
# entry: checked
# expect: raised
def compute_reward(state, action, next_state):
    action *= 0
    return next_state.speed, {}
