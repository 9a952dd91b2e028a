# kind: a list instead of a tuple
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return [next_state.speed, {}]
