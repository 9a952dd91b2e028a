# kind: array written to a file
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    state.speed.tofile('x')
    return state.speed, {}
