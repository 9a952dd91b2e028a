# kind: constant: a warning with its own status, not an error
# entry: validated
# expect: constant
def compute_reward(state, action, next_state):
    return np.ones(len(action)), {}
