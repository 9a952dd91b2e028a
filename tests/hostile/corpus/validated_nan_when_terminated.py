# kind: NaN on a recorded transition: where the episode has ended
# entry: validated
# expect: non_finite
def compute_reward(state, action, next_state):
    return np.where(next_state.terminated, np.nan, next_state.speed), {}
