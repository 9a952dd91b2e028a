# kind: batch-inconsistent: less the mean of the batch
# entry: validated
# expect: batch_inconsistent
def compute_reward(state, action, next_state):
    return next_state.speed - np.mean(next_state.speed), {}
