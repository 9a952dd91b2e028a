# kind: component keys that change between calls
# entry: checked
# expect: bad_answer
calls = []


def compute_reward(state, action, next_state):
    calls.append(1)
    return next_state.speed, {f'c{len(calls)}': next_state.speed}
