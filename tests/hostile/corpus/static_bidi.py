# kind: bidirectional control character
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    x = 1  # ‮ x = 2
    return state.speed, {}
