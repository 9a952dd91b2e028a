"""Meta-World's own scripted policies, for stores that are to hold more than random episodes."""


def make(env):
    """Return the policy `act(observation)` that Meta-World ships for an environment."""
    from metaworld.policies import ENV_POLICY_MAP

    return ENV_POLICY_MAP[env.get_wrapper_attr("name")]().get_action
