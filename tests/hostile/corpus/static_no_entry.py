# kind: no compute_reward
# entry: static
# expect: signature
def reward(state, action, next_state):
    return state.speed, {}
