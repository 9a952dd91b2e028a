# kind: ANSI escape in a component name
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, {'a\x1b[31m': next_state.speed}
