# kind: answers with what another batch was asked (interleaved batches)
# entry: validated
# expect: non_deterministic
kept = [0.0]


def compute_reward(state, action, next_state):
    before = kept[0]
    kept[0] = float(next_state.speed[0])
    return next_state.speed + before, {}
