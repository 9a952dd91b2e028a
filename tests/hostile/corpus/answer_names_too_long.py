# kind: names that fill the text area
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, {'a' * 9000: next_state.speed}
