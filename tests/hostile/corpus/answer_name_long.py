# kind: component name over 40 characters
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, {'a' * 41: next_state.speed}
