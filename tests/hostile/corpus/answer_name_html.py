# kind: HTML in a component name
# entry: checked
# expect: bad_answer
def compute_reward(state, action, next_state):
    return next_state.speed, {'<script>alert(1)</script>': next_state.speed}
