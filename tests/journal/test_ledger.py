"""Budgets are reserved before use, settled after it, and never passed."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardsmith.errors import BudgetExhausted
from rewardsmith.services.journal.ledger import Ledger, Limits, Remaining, Usage

NAMES = ("usd", "tokens", "env_steps", "trainings")
AMOUNTS = st.integers(0, 40)
USAGES = st.builds(
    lambda cents, tokens, env_steps, trainings: Usage(
        usd=None if cents is None else cents / 100, tokens=tokens, env_steps=env_steps, trainings=trainings
    ),
    st.none() | AMOUNTS,
    AMOUNTS,
    AMOUNTS,
    AMOUNTS,
)
LIMITS = st.builds(
    Limits,
    max_usd=st.none() | st.floats(0, 1),
    max_tokens=st.none() | st.integers(0, 100),
    max_env_steps=st.none() | st.integers(0, 100),
    max_trainings=st.none() | st.integers(0, 100),
)
STEPS = st.lists(st.tuples(st.sampled_from(["reserve", "settle", "release"]), st.integers(0, 3), USAGES))


def play(limits, steps):
    """Return a ledger after `steps`, what is still reserved, and the refusals; no effect uses more."""
    ledger, reserved, refusals = Ledger(limits), {}, []
    for action, number, usage in steps:
        key = f"e{number}"
        if action == "reserve" and key not in reserved:
            try:
                ledger.reserve(key, usage)
                reserved[key] = usage
            except BudgetExhausted as error:
                refusals.append(str(error))
        elif action == "settle" and key in reserved:
            estimate = reserved.pop(key)
            ledger.settle(
                key, Usage(usd=estimate.usd, tokens=estimate.tokens // 2, env_steps=estimate.env_steps)
            )
        elif action == "release":
            ledger.release(key)
            reserved.pop(key, None)
    return ledger, reserved, refusals


@settings(deadline=None)
@given(LIMITS, STEPS)
def test_no_limit_is_ever_passed_whatever_the_order(limits, steps):
    ledger, reserved, _ = play(limits, steps)
    for name in NAMES:
        limit = getattr(limits, f"max_{name}")
        taken = (getattr(ledger.used, name) or 0) + sum(
            getattr(usage, name) or 0 for usage in reserved.values()
        )
        assert limit is None or taken <= limit + 1e-6
        left = getattr(ledger.remaining(), name)
        assert (left is None) == (limit is None)
        assert left is None or left == pytest.approx(max(0, limit - taken), abs=1e-6)


@settings(deadline=None)
@given(LIMITS, STEPS)
def test_the_same_calls_give_the_same_ledger(limits, steps):
    (one, _, one_refused), (other, _, other_refused) = play(limits, steps), play(limits, steps)
    assert (one.used, one.remaining(), one_refused) == (other.used, other.remaining(), other_refused)


@settings(deadline=None)
@given(st.lists(USAGES))
def test_an_unknown_cost_is_counted_and_never_becomes_zero(usages):
    total = sum(usages, start=Usage(usd=0.0))
    assert total.usd_unknown_calls == sum(usage.usd is None for usage in usages)
    assert total.usd == pytest.approx(sum(usage.usd or 0 for usage in usages))


def test_the_sum_of_unknown_costs_is_unknown():
    assert Usage(usd=None) + Usage(usd=None) == Usage(usd=None, usd_unknown_calls=2)
    assert Usage(usd=None) + Usage(usd=0.25) == Usage(usd=0.25, usd_unknown_calls=1)


def test_a_refusal_names_the_limit_what_is_used_and_what_was_asked():
    ledger = Ledger(Limits(max_env_steps=2_000_000, max_usd=1.0))
    ledger.reserve("a", Usage(env_steps=1_234_567))
    ledger.settle("a", Usage(env_steps=1_234_567))
    ledger.reserve("b", Usage(env_steps=500_000))
    with pytest.raises(BudgetExhausted) as caught:
        ledger.reserve("i01/c02/train", Usage(env_steps=300_000))
    assert str(caught.value) == (
        "max_env_steps is 2000000: 1234567 used, 500000 reserved, 300000 asked for by i01/c02/train"
    )
    with pytest.raises(BudgetExhausted, match=r"max_usd is 1: 0 used, 0 reserved, 1\.25 asked for by c"):
        ledger.reserve("c", Usage(usd=1.25))


def test_a_refused_reservation_takes_nothing():
    ledger = Ledger(Limits(max_tokens=10, max_trainings=1))
    with pytest.raises(BudgetExhausted):
        ledger.reserve("a", Usage(tokens=5, trainings=2))
    ledger.reserve("a", Usage(tokens=10, trainings=1))


def test_a_limit_can_be_used_up_exactly():
    ledger = Ledger(Limits(max_usd=0.3))
    for key in "abc":
        ledger.reserve(key, Usage(usd=0.1))
        ledger.settle(key, Usage(usd=0.1))
    assert ledger.remaining().usd == pytest.approx(0)


def test_a_released_reservation_is_free_again():
    ledger = Ledger(Limits(max_trainings=1))
    ledger.reserve("a", Usage(trainings=1))
    ledger.release("a")
    ledger.release("a")
    ledger.reserve("b", Usage(trainings=1))


def test_an_effect_that_used_more_than_reserved_leaves_nothing_and_blocks_only_its_own_limit():
    ledger = Ledger(Limits(max_tokens=10, max_trainings=1))
    ledger.reserve("a", Usage(tokens=5))
    ledger.settle("a", Usage(tokens=50))
    assert ledger.remaining() == Remaining(usd=None, tokens=0, env_steps=None, trainings=1)
    ledger.reserve("b", Usage(trainings=1))
    with pytest.raises(BudgetExhausted, match="max_tokens"):
        ledger.reserve("c", Usage(tokens=1))


def test_a_call_of_unknown_cost_is_refused_once_the_cost_limit_is_met():
    ledger = Ledger(Limits(max_usd=0.5))
    ledger.reserve("a", Usage(usd=None))
    ledger.settle("a", Usage(usd=0.5))
    with pytest.raises(BudgetExhausted, match="an unknown amount asked for by b"):
        ledger.reserve("b", Usage(usd=None))


def test_misuse_of_keys_is_refused():
    ledger = Ledger(Limits())
    ledger.reserve("a", Usage())
    with pytest.raises(ValueError, match="a: reserved twice"):
        ledger.reserve("a", Usage())
    with pytest.raises(ValueError, match="b: settled without"):
        ledger.settle("b", Usage())


def test_threads_together_get_no_more_than_the_limit():
    ledger, granted = Ledger(Limits(max_trainings=50)), []

    def take(worker):
        for number in range(40):
            try:
                ledger.reserve(f"{worker}/{number}", Usage(trainings=1))
            except BudgetExhausted:
                return
            ledger.settle(f"{worker}/{number}", Usage(trainings=1))
            granted.append(1)

    threads = [threading.Thread(target=take, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == ledger.used.trainings == 50


def test_wall_clock_time_is_judged_against_its_limit():
    assert Ledger(Limits()).wall_verdict(1e9) is None
    ledger = Ledger(Limits(max_wall_s=60))
    assert ledger.wall_verdict(59.9) is None
    assert ledger.wall_verdict(61.23) == "max_wall_s is 60: 61.2 s have passed"
