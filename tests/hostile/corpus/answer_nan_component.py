# kind: NaN in a component
# entry: checked
# expect: non_finite
def compute_reward(state, action, next_state):
    return next_state.speed * 1.0, {'a': next_state.speed * np.nan}
