# kind: builtin that is not offered
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    x = breakpoint
    return state.speed, {}
