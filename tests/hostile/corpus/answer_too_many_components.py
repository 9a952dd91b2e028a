# kind: over 32 components
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, {f'c{i}': next_state.speed for i in range(33)}
