"""Keeps a reward process on the core of whoever asks it, where an answer comes back much sooner.

The asking process sleeps while the other computes, so they never compete. Only the reward process is bound:
the scheduler stays free to move the trainer, and its reward process follows.
"""

import ctypes
import os

from rewardsmith.services.sandbox.client import RewardClient
from rewardsmith.types import FloatArray, RewardAnswer, Transitions

FOLLOW_EVERY = 32
"""Calls after which it is looked at again where the caller runs."""


class FollowingClient:
    """A `RewardClient` whose reward process follows the calling process from core to core."""

    def __init__(self, client: RewardClient) -> None:
        self._client = client
        self._core_of_caller = ctypes.CDLL(None).sched_getcpu
        self._core: int | None = None
        self._n_calls = 0
        self._is_possible = client.pid is not None

    def call(self, batch: Transitions) -> RewardAnswer:
        """Return the checked reward of a batch; raises as `RewardClient.call` does."""
        self._follow_now_and_then()
        return self._client.call(batch)

    def potential(self, state: FloatArray) -> FloatArray:
        """Return the checked potential of states; raises as `RewardClient.potential` does."""
        self._follow_now_and_then()
        return self._client.potential(state)

    def _follow_now_and_then(self) -> None:
        if self._is_possible and self._n_calls % FOLLOW_EVERY == 0:
            self._follow()
        self._n_calls += 1

    def _follow(self) -> None:
        core = self._core_of_caller()
        if core == self._core or self._client.pid is None:
            return
        try:
            os.sched_setaffinity(self._client.pid, {core})
        except OSError:
            # It has another owner, or has ended, which the call itself will say.
            self._is_possible = False
        self._core = core
