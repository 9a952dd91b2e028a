# kind: takes *args
# entry: static
# expect: signature
# line: 5
def compute_reward(*args):
    return args[0].speed, {}
