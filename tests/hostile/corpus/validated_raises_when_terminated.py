# kind: raises on some states only: where the episode has ended
# entry: validated
# expect: raised
def compute_reward(state, action, next_state):
    if np.any(next_state.terminated):
        raise ValueError("no reward at the end")
    return next_state.speed, {}
