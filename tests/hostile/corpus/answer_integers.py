# kind: integer and boolean arrays
# entry: checked
# expect: answers
def compute_reward(state, action, next_state):
    return np.ones(len(action), dtype=np.int64), {'done': next_state.terminated}
