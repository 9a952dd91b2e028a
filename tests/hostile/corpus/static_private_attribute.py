# kind: private attribute of NumPy
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    np._core
    return state.speed, {}
