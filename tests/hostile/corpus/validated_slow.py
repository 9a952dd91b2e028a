# kind: over 100 ms for a 256-row batch
# entry: validated
# expect: slow
def compute_reward(state, action, next_state):
    total = 0.0
    for _ in range(12_000_000):
        total += 1.0
    return next_state.speed + 0.0 * total, {}
