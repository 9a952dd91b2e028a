# kind: a str
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return 'reward', {}
