# kind: mutates its inputs
# entry: checked
# expect: raised
def compute_reward(state, action, next_state):
    next_state.pos[:] = 0
    return next_state.speed, {}
