# kind: component keys that change between calls
# entry: validated
# expect: bad_answer
calls = []


def compute_reward(state, action, next_state):
    calls.append(1)
    name = "a" if len(calls) % 2 else "b"
    return next_state.speed, {name: next_state.speed}
