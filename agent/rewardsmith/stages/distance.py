"""How far apart two rewards are, whatever their scale and however they are shaped: EPIC.

Gleave et al. (2021, arXiv:2006.13900): each reward is made canonical, so that potential-based shaping drops
out, then compared by Pearson's correlation. Rewards of distance 0 order all policies alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rewardsmith.stages.selection import correlation
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import FloatArray, Transitions

N_ROWS = 256
N_ALTERNATIVES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class EpicSample:
    """The transitions that rewards are compared on.

    Attributes:
        rows: `n` transitions of the store.
        alternatives: `m` actions and next states of the store, which stand for what else may happen.
        gamma: the discount.
    """

    rows: Transitions
    alternatives: Transitions
    gamma: float


def epic_sample(store: TrajectoryStore, seed: int, gamma: float) -> EpicSample:
    """Return a sample of a store's transitions, drawn without replacement."""
    rng = np.random.default_rng(seed)
    transitions = store.transitions
    order = rng.permutation(len(transitions))
    n = min(N_ROWS, len(order))
    return EpicSample(
        rows=transitions.take(np.sort(order[:n])),
        alternatives=transitions.take(order[-min(N_ALTERNATIVES, len(order)) :]),
        gamma=gamma,
    )


def canonical(reward: Callable[[Transitions], FloatArray], sample: EpicSample) -> FloatArray:
    """Return the canonically shaped reward of each row, shape `(n,)`.

    R(s, a, s') + gamma E[R(s', A, S')] - E[R(s, A, S')], with A and S' of the alternatives; the constant term
    of the definition is left out, since no correlation sees it.

    Args:
        reward: of a batch; raises as a box does.
        sample: what it is asked about.
    """
    rows = sample.rows
    after, before = (_expected(reward, states, sample) for states in (rows.next_state, rows.state))
    return reward(rows) + sample.gamma * after - before


def distances(canonical_rewards: Sequence[FloatArray]) -> FloatArray:
    """Return the matrix of distances, in [0, 1]: 0 for equal rewards, 1 for opposite ones.

    A constant reward has the distance of an unrelated one, the square root of one half.
    """
    n = len(canonical_rewards)
    table = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            rho = correlation(canonical_rewards[i], canonical_rewards[j])
            table[i, j] = table[j, i] = np.sqrt(max(0.0, 1.0 - rho) / 2.0)
    return table


def _expected(
    reward: Callable[[Transitions], FloatArray], states: FloatArray, sample: EpicSample
) -> FloatArray:
    """Return the mean reward over all alternatives of each state, shape `(n,)`."""
    n, m = len(states), len(sample.alternatives)
    other = sample.alternatives
    batch = Transitions(
        state=np.repeat(states, m, axis=0),
        action=np.tile(other.action, (n, 1)),
        next_state=np.tile(other.next_state, (n, 1)),
        terminated=np.zeros(n * m, dtype=np.bool_),
    )
    mean: FloatArray = reward(batch).reshape(n, m).mean(axis=1)
    return mean
