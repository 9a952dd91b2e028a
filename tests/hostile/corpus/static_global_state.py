# kind: global state
# entry: static
# expect: forbidden
# line: 7
n = 0
def compute_reward(state, action, next_state):
    global n
    n += 1
    return state.speed, {}
