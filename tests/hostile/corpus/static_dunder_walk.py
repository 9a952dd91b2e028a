# kind: dunder attribute walk
# entry: static
# expect: forbidden
# line: 6
def compute_reward(state, action, next_state):
    x = ().__class__.__base__.__subclasses__()
    return state.speed, {}
