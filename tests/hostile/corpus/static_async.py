# kind: async function
# entry: static
# expect: forbidden
# line: 5
async def compute(state):
    return 1

def compute_reward(state, action, next_state):
    return -next_state.speed, {}
