# kind: non-deterministic: another answer to every second call
# entry: validated
# expect: non_deterministic
sign = [1.0]


def compute_reward(state, action, next_state):
    sign[0] = -sign[0]
    return sign[0] * next_state.speed, {}
