# kind: newline after a component name
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, {'a\n': next_state.speed}
