"""Potential-based shaping: a reward that changes how fast a policy is learnt, and not which one is best.

Ng, Harada and Russell (1999): with F = gamma * phi(s') - phi(s) added to a task's reward, every optimal
policy stays optimal, for whatever phi. At the end of an episode phi counts as zero; where an episode is only
cut off by its time limit it goes on in truth, and phi keeps its value.
"""

from rewardsmith.types import BoolArray, FloatArray


def shaping_reward(phi: FloatArray, next_phi: FloatArray, terminated: BoolArray, gamma: float) -> FloatArray:
    """Return gamma * phi(s') - phi(s) of each transition.

    Args:
        phi: potential of the state, shape `(n,)`.
        next_phi: potential of the next state, shape `(n,)`.
        terminated: shape `(n,)`; not true of episodes that were only truncated.
        gamma: the learner's discount.
    """
    shaped: FloatArray = gamma * next_phi * ~terminated - phi
    return shaped
