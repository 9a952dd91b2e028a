# kind: dunder read by a class pattern
# entry: static
# expect: forbidden
def compute_reward(state, action, next_state):
    match state:
        case object(__class__=c):
            pass
    return state.speed, {}
