"""The reward that a learner is given: the box's answers, or a baseline computed here."""

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from rewardsmith.contract.layout import ActionSpec
from rewardsmith.contract.shaping import shaping_reward
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.types import FloatArray, RewardAnswer, Transitions
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import STATE_KEY, SUCCESS_KEY

SLOW_CALL_S = 0.1
MAX_SLOW_CALLS = 20


class RewardSource(Protocol):
    """Answers the reward of one vectorised step."""

    def __call__(self, batch: Transitions, env_reward: FloatArray, told: list[bool]) -> RewardAnswer:
        """Return the reward of `batch`; `env_reward` and `told` success are for baselines."""
        ...


def baseline_source(name: str, measures: Measures) -> RewardSource:
    """Return a baseline: `human` (the environment's own), `sparse`, `zero` or `progress` (its increments)."""
    rewards: dict[str, Callable[[Transitions, FloatArray, list[bool]], Any]] = {
        "human": lambda _, env_reward, __: env_reward,
        "sparse": lambda batch, _, told: measures.flags(batch.next_state, told),
        "zero": lambda batch, _, __: np.zeros(len(batch)),
        "progress": lambda batch, _, __: (
            measures.progress_of(batch.next_state) - measures.progress_of(batch.state)
        ),
    }
    reward = rewards[name]

    def source(batch: Transitions, env_reward: FloatArray, told: list[bool]) -> RewardAnswer:
        return RewardAnswer(
            reward=np.asarray(reward(batch, env_reward, told), dtype=np.float64), components={}, cpu_s=0.0
        )

    return source


class GuardedReward:
    """Asks the box, and from time to time asks again what it answered before.

    A reward is a pure function, so an answer that changes is a time bomb or hidden state: `DRIFT`.

    Args:
        call: the box.
        seed: decides which calls are followed by a second question.
        reference: batches with the answers that were accepted before training.
    """

    RECHECK_SHARE = 1 / 64
    N_KEPT = 8
    KEEP_EVERY = 16

    def __init__(
        self,
        call: Callable[[Transitions], RewardAnswer],
        seed: int,
        reference: list[tuple[Transitions, FloatArray]] | None = None,
    ) -> None:
        self._call = call
        self._rng = np.random.default_rng(seed)
        self._kept = list(reference or [])
        self._n_kept_max = len(self._kept) + self.N_KEPT
        self._n_calls = 0
        self._n_slow = 0

    def __call__(self, batch: Transitions, env_reward: FloatArray, told: list[bool]) -> RewardAnswer:
        """Return the box's answer."""
        started = time.perf_counter()
        answer = self._call(batch)
        self._watch_time(time.perf_counter() - started)
        self._n_calls += 1
        if len(self._kept) < self._n_kept_max and self._n_calls % self.KEEP_EVERY == 1:
            self._kept.append((batch.take(np.arange(len(batch))), answer.reward.copy()))
        if self._kept and self._rng.random() < self.RECHECK_SHARE:
            self.recheck(int(self._rng.integers(len(self._kept))))
        return answer

    def recheck(self, index: int) -> None:
        """Ask an earlier question again.

        Raises:
            CandidateError: `DRIFT`, if the answer is another one.
        """
        batch, expected = self._kept[index]
        again = self._call(batch).reward
        if not np.allclose(again, expected, rtol=1e-9, atol=1e-12):
            worst = float(np.max(np.abs(again - expected)))
            raise CandidateError(
                FailureCode.DRIFT,
                f"the same transitions got another reward after {self._n_calls} calls (by {worst:.3g})",
            )

    def recheck_all(self) -> None:
        """Ask every kept question again; raises as `recheck`."""
        for index in range(len(self._kept)):
            self.recheck(index)

    def _watch_time(self, elapsed_s: float) -> None:
        self._n_slow += elapsed_s > SLOW_CALL_S
        if self._n_slow > MAX_SLOW_CALLS:
            raise CandidateError(
                FailureCode.SLOW, f"{self._n_slow} calls took more than {SLOW_CALL_S * 1000:.0f} ms each"
            )


class SparseAndShaping(GuardedReward):
    """Pays the task's sparse success and the shaping term of a candidate's potential.

    The term is computed here, from potentials alone: whatever the candidate's code does, it can make learning
    slower or faster, and leaves the best policies as they are.

    Args:
        potential: the box's potential of states.
        measures: the task's measures.
        gamma: the learner's discount.
        seed: as of `GuardedReward`.
        reference: as of `GuardedReward`, with shaping terms.
    """

    def __init__(
        self,
        potential: Callable[[FloatArray], FloatArray],
        measures: Measures,
        gamma: float,
        seed: int,
        reference: list[tuple[Transitions, FloatArray]] | None = None,
    ) -> None:
        def shaped(batch: Transitions) -> RewardAnswer:
            phi = potential(np.concatenate([batch.state, batch.next_state]))
            n = len(batch)
            term = shaping_reward(phi[:n], phi[n:], batch.terminated, gamma)
            return RewardAnswer(reward=term, components={"shaping": term}, cpu_s=0.0)

        super().__init__(shaped, seed, reference)
        self._measures = measures

    def __call__(self, batch: Transitions, env_reward: FloatArray, told: list[bool]) -> RewardAnswer:
        """Return success and shaping term of each row, and both as components."""
        answer = super().__call__(batch, env_reward, told)
        flags = self._measures.flags(batch.next_state, told)
        assert flags is not None
        sparse = flags.astype(np.float64)
        return RewardAnswer(
            reward=sparse + answer.reward, components={"success": sparse, **answer.components}, cpu_s=0.0
        )


class RewardStatistics:
    """Mean, std, min and max of the reward and each component over windows of steps."""

    def __init__(self) -> None:
        self._answers: list[RewardAnswer] = []

    def add(self, answer: RewardAnswer) -> None:
        """Take in the answer of one vectorised step."""
        self._answers.append(answer)

    def cut(self) -> dict[str, Any]:
        """Return the statistics since the last cut: of the `reward`, and of its `components` by name."""
        answers, self._answers = self._answers, []
        if not answers:
            return {}
        reward = np.concatenate([a.reward for a in answers])
        names = answers[0].components
        series = {name: np.concatenate([a.components[name] for a in answers]) for name in names}
        return {
            "reward": self._summary(reward),
            "components": {name: self._summary(values) for name, values in series.items()},
        }

    @staticmethod
    def _summary(values: FloatArray) -> dict[str, float]:
        return {
            "mean": float(values.mean()),
            "std": float(values.std()),
            "min": float(values.min()),
            "max": float(values.max()),
        }


class RewardedVecEnv(VecEnvWrapper):
    """Replaces the environment's reward; sits inside VecMonitor and VecNormalize.

    Attributes:
        env_s: seconds spent in the environments so far.
        reward_s: seconds spent on the reward so far.
    """

    def __init__(self, venv: VecEnv, source: RewardSource, action: ActionSpec) -> None:
        super().__init__(venv)
        self._source = source
        self._spec = action
        self.statistics = RewardStatistics()
        self.env_s = 0.0
        self.reward_s = 0.0

    def reset(self) -> Any:
        """Reset every environment and take up their states."""
        obs = self.venv.reset()
        self._state = np.stack([info[STATE_KEY] for info in self.venv.reset_infos])
        return obs

    def step_async(self, actions: Any) -> None:
        """Start a step and remember the actions as they are applied."""
        self._action = np.asarray(actions, dtype=self._spec.dtype).reshape(self.num_envs, self._spec.dim)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Finish the step and answer with the synthesised reward."""
        started = time.perf_counter()
        obs, env_reward, dones, infos = self.venv.step_wait()
        stepped = time.perf_counter()
        next_state = np.stack([info[STATE_KEY] for info in infos])
        truncated = [info.get("TimeLimit.truncated", False) for info in infos]
        answer = self._source(
            Transitions(
                state=self._state,
                action=self._action,
                next_state=next_state,
                terminated=dones & ~np.asarray(truncated, dtype=np.bool_),
            ),
            env_reward.astype(np.float64),
            [info.get(SUCCESS_KEY, False) for info in infos],
        )
        self.statistics.add(answer)
        # After an automatic reset the next transition starts from the new episode's first state.
        self._state = next_state
        if dones.any():
            self._state = next_state.copy()
            for i in np.flatnonzero(dones):
                self._state[i] = self.venv.reset_infos[i][STATE_KEY]
        self.env_s += stepped - started
        self.reward_s += time.perf_counter() - stepped
        return obs, answer.reward.astype(np.float32), dones, infos
