"""Records that travel between the parts: transitions, trajectories and a reward's answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
ActionArray = npt.NDArray[Any]
"""Float64 `(n, action_dim)` for a Box, int64 `(n, 1)` for a Discrete action space."""


RANDOM, EXPERT = "random", "expert"
"""Who acted in trajectories that no candidate's policy made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitions:
    """A batch of n transitions in a task's state layout.

    Attributes:
        state: shape `(n, state_dim)`, float64.
        action: shape `(n, action_dim)`, as applied to the environment (clipped, unscaled).
        next_state: shape `(n, state_dim)`, float64; at the end of an episode its true last state.
        terminated: shape `(n,)`, False where the episode was only truncated.
    """

    state: FloatArray
    action: ActionArray
    next_state: FloatArray
    terminated: BoolArray

    def __len__(self) -> int:
        return len(self.state)

    def take(self, rows: Any) -> "Transitions":
        """Return the given rows (any NumPy index) as a batch of their own."""
        return Transitions(
            state=self.state[rows],
            action=self.action[rows],
            next_state=self.next_state[rows],
            terminated=self.terminated[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardAnswer:
    """What a reward answered to one batch, already checked for shape, dtype, finiteness and magnitude.

    Attributes:
        reward: shape `(n,)`.
        components: by name, each of shape `(n,)`.
        cpu_s: CPU seconds that the reward process says it spent; a claim of an untrusted process.
    """

    reward: FloatArray
    components: dict[str, FloatArray]
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One judged episode of T steps.

    Attributes:
        state: shape `(T + 1, state_dim)`: every state from reset to the end.
        action: shape `(T, action_dim)`.
        terminated: whether the episode ended by itself rather than by its time limit.
        fitness: the task's measure of this episode.
        progress: the task's graded measure in [0, 1], or None where the task has none.
        success: whether the task counts it as solved; None where the task has no success.
        success_last: whether it was solved at its last step, or None.
        origin: who acted: `random`, `expert`, or a structural key such as `i01c02/train/r1/k2`.
    """

    state: FloatArray
    action: ActionArray
    terminated: bool
    fitness: float
    progress: float | None
    success: bool | None
    success_last: bool | None
    origin: str

    def __len__(self) -> int:
        return len(self.action)

    def transitions(self) -> Transitions:
        """Return the T transitions of this episode."""
        terminated = np.zeros(len(self.action), dtype=np.bool_)
        if len(terminated):
            terminated[-1] = self.terminated
        return Transitions(
            state=self.state[:-1], action=self.action, next_state=self.state[1:], terminated=terminated
        )
