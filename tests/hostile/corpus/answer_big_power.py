# kind: one endless operation in C
# entry: checked
# expect: timeout
def compute_reward(state, action, next_state):
    x = 9 ** 9 ** 9
    return next_state.speed, {}
