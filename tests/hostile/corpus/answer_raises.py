# kind: raises on some states only
# entry: checked
# expect: raised
def compute_reward(state, action, next_state):
    if next_state.speed[0] > -1e9:
        raise ValueError('bad state')
    return next_state.speed, {}
