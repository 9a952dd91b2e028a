# kind: wrong arity
# entry: static
# expect: signature
# line: 5
def compute_reward(state, action):
    return state.speed, {}
