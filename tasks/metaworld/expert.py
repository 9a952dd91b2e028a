"""Meta-World's own scripted policies, for stores that are to hold more than random episodes."""

import importlib


def make(env):
    """Return the policy `act(observation)` that Meta-World ships for an environment."""
    policies = importlib.import_module("metaworld.policies")
    name = type(env.unwrapped).__name__.replace("EnvV3", "V3Policy")
    return getattr(policies, name)().get_action
