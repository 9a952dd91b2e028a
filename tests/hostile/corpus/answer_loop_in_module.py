# kind: infinite loop in its module
# entry: checked
# expect: timeout
# limits: start_timeout_s=1
while True:
    pass


def compute_reward(state, action, next_state):
    return next_state.speed, {}
