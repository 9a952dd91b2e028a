# kind: batch-inconsistent: a component that ranks rows within the batch
# entry: validated
# expect: batch_inconsistent
def compute_reward(state, action, next_state):
    rank = np.argsort(np.argsort(next_state.speed)).astype(float)
    return next_state.speed, {"rank": rank}
