# kind: path in a component name
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, {'../x': next_state.speed}
