# kind: constant reward
# entry: checked
# expect: answers
def compute_reward(state, action, next_state):
    return np.zeros(len(action)), {}
