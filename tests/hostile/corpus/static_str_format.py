# kind: str.format dunder access
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    x = '{0.__class__}'.format(state)
    return state.speed, {}
