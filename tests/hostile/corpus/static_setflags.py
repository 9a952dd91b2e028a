# kind: array made writable
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    state.speed.setflags(write=True)
    return state.speed, {}
