# kind: infinite loop
# entry: checked
# expect: timeout
def compute_reward(state, action, next_state):
    while True:
        pass
