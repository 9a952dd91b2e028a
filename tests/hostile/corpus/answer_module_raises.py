# kind: raises while its module runs
# entry: checked
# expect: raised
x = 1 / 0


def compute_reward(state, action, next_state):
    return next_state.speed, {}
