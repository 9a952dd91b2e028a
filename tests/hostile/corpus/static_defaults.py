# kind: takes defaults that survive between calls
# entry: static
# expect: signature
# line: 5
def compute_reward(state, action, next_state=[]):
    return state.speed, {}
