# kind: ndarray subclass
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return np.asmatrix(next_state.speed), {}
