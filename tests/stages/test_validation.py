"""The reward contract, asked of small fakes at the boundary and of real candidates in the box."""

import numpy as np
import pytest

from rewardsmith.config import GateConfig
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.sandbox.base import SandboxLimits
from rewardsmith.services.sandbox.local import LocalSandbox
from rewardsmith.stages.screening import screen
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.stages.validation import MAX_CPU_S, N_ROWS, validate
from rewardsmith.types import RewardAnswer
from sandbox.helpers import candidate
from stages.made_up import SPEC, trajectory, transitions

SAMPLE = transitions(N_ROWS)


class Answers:
    """A reward process that answers `reward(batch, call number)` and `names(batch, call number)`."""

    def __init__(self, reward, names=lambda batch, call: ("part",), cpu_s=0.0):
        self.reward, self.names, self.cpu_s, self.n_calls = reward, names, cpu_s, 0

    def call(self, batch):
        self.n_calls += 1
        reward = self.reward(batch, self.n_calls)
        names = self.names(batch, self.n_calls)
        return RewardAnswer(reward=reward, components=dict.fromkeys(names, reward), cpu_s=self.cpu_s)


def pure(batch, call):
    return batch.next_state[:, 0] - batch.state[:, 0]


def failure_of(process):
    with pytest.raises(CandidateError) as caught:
        validate(process, SAMPLE)
    return caught.value.code, caught.value.message


def test_a_pure_reward_passes_with_its_reward_and_names():
    found = validate(Answers(pure), SAMPLE)
    np.testing.assert_array_equal(found.reward, pure(SAMPLE, 1))
    assert (found.components, found.is_constant) == (("part",), False)


def test_a_constant_reward_passes_and_is_called_constant():
    assert validate(Answers(lambda batch, call: np.full(len(batch), 0.1)), SAMPLE).is_constant


def test_last_bits_may_differ():
    validate(Answers(lambda batch, call: pure(batch, call) * (1 + 1e-12 * call)), SAMPLE)


def test_a_reward_with_a_memory_is_not_deterministic():
    code, message = failure_of(Answers(lambda batch, call: pure(batch, call) + 1e-6 * call))
    assert code == FailureCode.NON_DETERMINISTIC
    assert "no randomness, no memory of earlier calls" in message


def test_a_component_with_a_memory_is_not_deterministic_either():
    process = Answers(pure)
    process.call = lambda batch, call=process.call: (
        lambda answer: RewardAnswer(
            reward=answer.reward, components={"part": answer.reward + process.n_calls}, cpu_s=0.0
        )
    )(call(batch))
    assert failure_of(process)[0] == FailureCode.NON_DETERMINISTIC


@pytest.mark.parametrize(
    "reward",
    [
        lambda batch, call: pure(batch, call) - pure(batch, call).mean(),
        lambda batch, call: pure(batch, call) + 1e-6 * len(batch),
        lambda batch, call: pure(batch, call) + 1e-6 * np.arange(len(batch)),
        lambda batch, call: np.cumsum(pure(batch, call)),
        lambda batch, call: pure(batch, call) / np.abs(pure(batch, call)).max(),
    ],
)
def test_a_row_that_knows_its_batch_is_inconsistent(reward):
    code, message = failure_of(Answers(reward))
    assert code == FailureCode.BATCH_INCONSISTENT
    assert "reduce over axis=-1" in message


def test_component_names_may_not_change_from_call_to_call():
    code, message = failure_of(Answers(pure, lambda batch, call: ("a", "b") if call == 3 else ("a",)))
    assert (code, message) == (FailureCode.BAD_ANSWER, "the component names change from call to call")


def test_component_names_may_not_depend_on_the_batch():
    by_size = Answers(pure, lambda batch, call: ("a", "b") if len(batch) > 1 else ("a",))
    assert failure_of(by_size)[0] == FailureCode.BATCH_INCONSISTENT


def test_a_reward_that_takes_too_much_cpu_is_slow():
    code, message = failure_of(Answers(pure, cpu_s=2.5 * MAX_CPU_S))
    assert code == FailureCode.SLOW
    assert message.startswith("256 rows took 250 ms, the limit is 100 ms; use whole-array NumPy operations")


def test_a_reward_that_claims_little_cpu_is_timed_by_the_clock(monkeypatch):
    clock = iter([0.0, 1.5])
    monkeypatch.setattr("rewardsmith.stages.validation.time.perf_counter", lambda: next(clock))
    code, message = failure_of(Answers(pure))
    assert code == FailureCode.SLOW
    assert "took 1500 ms" in message


@pytest.fixture(scope="module")
def sandbox():
    with LocalSandbox() as backend:
        yield backend


GOOD = candidate('reach = -np.abs(next_state.pos).sum(axis=-1)\nreturn reach, {"reach": reach}')

BAD = {
    "a random state kept between calls": (
        "SEED = [7]\n\n\n"
        + candidate(
            "SEED[0] = (1103515245 * SEED[0] + 12345) % 2**31\nreturn next_state.speed + SEED[0] / 2**31, {}"
        ),
        FailureCode.NON_DETERMINISTIC,
        "the same transitions got another reward when asked again",
    ),
    "the mean of the batch": (
        candidate("return next_state.speed - next_state.speed.mean(), {}"),
        FailureCode.BATCH_INCONSISTENT,
        "depends on the other rows",
    ),
    "NaN on some rows": (
        candidate('return np.sqrt(next_state.speed), {"root": next_state.speed}'),
        FailureCode.NON_FINITE,
        "reward",
    ),
    "a changed input": (
        candidate("next_state.speed[:] = 0.0\nreturn next_state.speed, {}"),
        FailureCode.RAISED,
        "assignment destination is read-only",
    ),
    "an error only where an episode ends": (
        candidate("if next_state.terminated.any():\n    return 1 / 0, {}\nreturn next_state.speed, {}"),
        FailureCode.RAISED,
        "ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_candidate_in_the_box_is_turned_down(sandbox, name):
    source, code, words = BAD[name]
    process = sandbox.open(source, SPEC, SandboxLimits())
    try:
        found = failure_of(process)
    finally:
        process.close()
    assert found[0] == code, found
    assert words in found[1]


METHODS = [
    "sum(axis=-1)",
    "mean(axis=-1)",
    "std(axis=-1)",
    "var(axis=-1)",
    "min(axis=-1)",
    "max(axis=-1)",
    "prod(axis=-1)",
    "any(axis=-1) * 1.0",
    "all(axis=-1) * 1.0",
    "clip(-1.0, 1.0)[:, 0]",
    "round(1)[:, 0]",
    "argmax(axis=-1) * 1.0",
    "cumsum(axis=-1)[:, 0]",
    "astype(np.float32)[:, 0].astype(float)",
]


@pytest.mark.parametrize("method", METHODS)
def test_a_candidate_may_use_the_methods_of_arrays(sandbox, method):
    source = candidate(f"return next_state.pos.{method}, {{}}")
    process = sandbox.open(source, SPEC, SandboxLimits())
    try:
        assert np.ptp(validate(process, SAMPLE).reward) >= 0.0
    finally:
        process.close()


STORE = TrajectoryStore((trajectory(1.0, length=5), trajectory(0.0, length=4, first=2.0)), ("ref",))


def screened(sandbox, *sources):
    return screen(
        sources,
        sandbox=sandbox,
        spec=SPEC,
        limits=SandboxLimits(),
        store=STORE,
        sample=STORE.sample(N_ROWS, seed=0),
        gate=GateConfig(),
        gamma=0.99,
        workers=2,
    )


def test_screening_scores_every_trajectory_and_keeps_the_order(sandbox):
    bad = candidate("return undefined, {}")
    first, second, third, fourth = screened(sandbox, GOOD, bad, "import os", candidate("return 0.0, {}"))
    reach = -np.abs(STORE.transitions.next_state[:, :2]).sum(axis=1)
    np.testing.assert_allclose(first.returns, [reach[:5].sum(), reach[5:].sum()])
    assert first.failure is None
    assert len(first.reward) == 9
    assert not first.is_constant
    assert (second.failure, second.returns, second.reward) == (FailureCode.RAISED, None, None)
    assert "undefined" in second.message
    assert third.failure == FailureCode.SIGNATURE
    assert fourth.failure == FailureCode.BAD_ANSWER


def test_screening_says_that_a_reward_is_constant(sandbox):
    (found,) = screened(sandbox, candidate("return 0.0 * next_state.speed, {}"))
    assert found.is_constant
    assert found.failure is None


def test_a_return_that_overflows_is_no_score(sandbox, monkeypatch):
    monkeypatch.setattr(TrajectoryStore, "returns", lambda self, reward: np.array([np.inf, 0.0]))
    (found,) = screened(sandbox, GOOD)
    assert (found.failure, found.returns) == (FailureCode.MAGNITUDE, None)


def test_a_failure_of_the_box_is_nobodys_result():
    from rewardsmith.errors import SandboxUnavailableError

    class Unavailable:
        def open(self, source, spec, limits):
            raise SandboxUnavailableError("no box")

    with pytest.raises(SandboxUnavailableError):
        screened(Unavailable(), GOOD)
