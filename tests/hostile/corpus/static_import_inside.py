# kind: import inside a function
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    import socket
    return state.speed, {}
