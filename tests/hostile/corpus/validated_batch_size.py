# kind: batch-inconsistent: depends on the size of the batch
# entry: validated
# expect: batch_inconsistent
def compute_reward(state, action, next_state):
    return next_state.speed / len(action), {}
