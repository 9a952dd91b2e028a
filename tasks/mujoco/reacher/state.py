"""State fields that join numbers which the observation holds apart."""


def shoulder(obs, info, env):
    """Return cosine and sine of the angle of the first link."""
    return obs[[0, 2]]


def elbow(obs, info, env):
    """Return cosine and sine of the angle of the second link."""
    return obs[[1, 3]]
