# kind: NaN
# entry: checked
# expect: non_finite
def compute_reward(state, action, next_state):
    return np.where(next_state.speed > 0, np.nan, 0.0), {}
