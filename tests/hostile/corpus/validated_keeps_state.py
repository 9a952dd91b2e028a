# kind: keeps state between calls
# entry: validated
# expect: non_deterministic
seen = []


def compute_reward(state, action, next_state):
    seen.append(len(action))
    return next_state.speed + 0.001 * len(seen), {}
