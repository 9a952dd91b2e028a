"""The store of judged trajectories, on which proposals are validated and ranked."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rewardsmith.contract.layout import StateLayout
from rewardsmith.types import BoolArray, FloatArray, Trajectory, Transitions


@dataclass(frozen=True)
class TrajectoryStore:
    """Trajectories in the order in which they were judged, never in that of completion.

    Attributes:
        trajectories: the episodes.
        refs: content addresses of the files that hold them; the store's identity.
    """

    trajectories: tuple[Trajectory, ...] = ()
    refs: tuple[str, ...] = field(default=())

    def grown(self, trajectories: Iterable[Trajectory], ref: str) -> "TrajectoryStore":
        """Return a store with the trajectories of one more file."""
        return TrajectoryStore((*self.trajectories, *trajectories), (*self.refs, ref))

    def ranking_choice(self, n_max: int) -> "TrajectoryStore":
        """Return a store of at most `n_max` of these trajectories, evenly chosen from worst to best."""
        if len(self.trajectories) <= n_max:
            return self
        order = sorted(
            range(len(self.trajectories)),
            key=lambda i: (self.trajectories[i].fitness, self.trajectories[i].progress or 0.0),
        )
        picked = sorted(order[i] for i in np.linspace(0, len(order) - 1, n_max).astype(int))
        return TrajectoryStore(tuple(self.trajectories[i] for i in picked), self.refs)

    @cached_property
    def transitions(self) -> Transitions:
        """Every transition, trajectory after trajectory."""
        parts = [t.transitions() for t in self.trajectories]
        return Transitions(
            state=np.concatenate([p.state for p in parts]),
            action=np.concatenate([p.action for p in parts]),
            next_state=np.concatenate([p.next_state for p in parts]),
            terminated=np.concatenate([p.terminated for p in parts]),
        )

    @cached_property
    def starts(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Row of each trajectory's first transition."""
        return np.cumsum([0, *(len(t) for t in self.trajectories[:-1])])

    def returns(self, reward: FloatArray) -> FloatArray:
        """Return the undiscounted return of each trajectory, given the reward of every transition."""
        return np.add.reduceat(reward, self.starts)

    @cached_property
    def lengths(self) -> FloatArray:
        """Number of transitions of each trajectory."""
        return np.array([float(len(t)) for t in self.trajectories])

    @cached_property
    def steps(self) -> FloatArray:
        """Of every transition, how many came before it in its trajectory."""
        return np.concatenate([np.arange(len(t), dtype=np.float64) for t in self.trajectories])

    @cached_property
    def fitness(self) -> FloatArray:
        """Fitness of each trajectory."""
        return np.array([t.fitness for t in self.trajectories])

    @cached_property
    def progress(self) -> FloatArray | None:
        """Progress of each trajectory, or None where the task has none."""
        values = [t.progress for t in self.trajectories if t.progress is not None]
        return np.array(values) if values else None

    def sample(self, n_rows: int, seed: int) -> Transitions:
        """Return up to `n_rows` transitions, drawn without replacement; a few are marked as terminated.

        The marks let validation reach the branch of a reward that real episodes may not have reached yet.
        """
        rng = np.random.default_rng(seed)
        n_all = len(self.transitions)
        batch = self.transitions.take(np.sort(rng.choice(n_all, size=min(n_rows, n_all), replace=False)))
        terminated: BoolArray = batch.terminated.copy()
        terminated[:: max(1, len(batch) // 8)] = True
        return Transitions(
            state=batch.state, action=batch.action, next_state=batch.next_state, terminated=terminated
        )

    def axis_ranges(self, layout: StateLayout) -> dict[str, tuple[tuple[float, float], ...]]:
        """Return the (low, high) of each value of each field over all states in the store."""
        states = np.concatenate([t.state for t in self.trajectories])
        low, high = states.min(axis=0), states.max(axis=0)
        return {
            name: tuple(zip(low[part].tolist(), high[part].tolist(), strict=True))
            for name, part in layout.slices.items()
        }

    def ranges(self, layout: StateLayout) -> dict[str, tuple[float, float]]:
        """Return the (low, high) of each field over all states in the store."""
        states = np.concatenate([t.state for t in self.trajectories])
        return {
            name: (float(values.min()), float(values.max())) for name, values in layout.view(states).items()
        }
