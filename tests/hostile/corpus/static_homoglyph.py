# kind: homoglyph identifier
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    stаte = 1
    return state.speed, {}
