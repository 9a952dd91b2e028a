# kind: state kept on a function
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    compute_reward.calls = 1
    return state.speed, {}
