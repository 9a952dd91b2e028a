# kind: syntax error
# entry: static
# expect: syntax
def compute_reward(state, action, next_state:
    return 1
