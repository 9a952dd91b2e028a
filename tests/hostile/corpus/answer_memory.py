# kind: allocates more than it may
# entry: checked
# expect: memory
def compute_reward(state, action, next_state):
    return np.zeros(10**10), {}
