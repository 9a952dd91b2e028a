# kind: class with tricks
# entry: static
# expect: forbidden
# line: 5
class A:
    pass

def compute_reward(state, action, next_state):
    return -next_state.speed, {}
