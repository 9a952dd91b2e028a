# kind: batch-inconsistent: a running sum over the rows
# entry: validated
# expect: batch_inconsistent
def compute_reward(state, action, next_state):
    return np.cumsum(next_state.speed), {}
