# kind: nonlocal state
# entry: static
# expect: forbidden
# line: 8
def make():
    n = 0
    def count():
        nonlocal n
        n += 1
    return count

def compute_reward(state, action, next_state):
    return -next_state.speed, {}
