# kind: forbidden part of NumPy
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    x = np.savez
    return state.speed, {}
