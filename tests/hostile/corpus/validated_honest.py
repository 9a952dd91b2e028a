# kind: an honest reward, which passes
# entry: validated
# expect: valid
def compute_reward(state, action, next_state):
    reach = -np.linalg.norm(next_state.pos - next_state.goal, axis=-1)
    return reach, {"reach": reach}
