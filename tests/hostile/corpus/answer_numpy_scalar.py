# kind: NumPy scalar instead of (n,)
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return np.mean(next_state.speed), {}
