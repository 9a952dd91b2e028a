# kind: returns a generator
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    yield next_state.speed, {}
