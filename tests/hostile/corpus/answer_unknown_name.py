# kind: uses a name that is not there
# entry: checked
# expect: raised
def compute_reward(state, action, next_state):
    return torch.zeros(3), {}
