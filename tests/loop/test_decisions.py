"""What the loop decides, on candidates that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

from rewardsmith.config import GateConfig, MethodConfig, SelectConfig
from rewardsmith.contract.layout import ActionSpec, StateField, StateLayout
from rewardsmith.errors import BudgetExhausted, FailureCode
from rewardsmith.loop import full_budget, proposing, search
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.confirm import _challengers
from rewardsmith.loop.finals import _normalised
from rewardsmith.loop.full_budget import full_plan
from rewardsmith.loop.state import SearchState
from rewardsmith.services.journal.journal import Journal
from rewardsmith.services.journal.ledger import Ledger, Limits
from rewardsmith.services.journal.objects import ObjectStore
from rewardsmith.services.models.base import Proposal
from rewardsmith.stages.screening import Screened
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import Trajectory

METHOD = MethodConfig(select=SelectConfig(finalists=2), gate=GateConfig(min_pairs=1))


def checkpoint(fitness, progress=0.0):
    return {"step": 10, "fitness": [fitness], "progress": [progress], "own_return": 0.0}


def candidate(name, fitness=None, confirmed=None, source=None):
    made = Candidate(id=name, proposal=Proposal(source=source or f"# {name}", origin="fresh"))
    if fitness is not None:
        made.checkpoints = [checkpoint(fitness)]
    if confirmed is not None:
        made.confirmed = [checkpoint(confirmed)]
    return made


def trajectory(length=4, fitness=0.0):
    return Trajectory(
        state=np.random.default_rng(int(10 * fitness) + length).normal(size=(length + 1, 1)),
        action=np.zeros((length, 1)),
        terminated=False,
        fitness=fitness,
        progress=None,
        success=None,
        success_last=None,
        origin="random",
    )


def state_of(*candidates, random_fitness=0.1, best=None):
    return SearchState(
        action=ActionSpec(dim=1),
        opening_brief=None,
        store=TrajectoryStore().grown([trajectory(4), trajectory(5, 0.5)], "ref"),
        horizon=5,
        rollout_steps=8,
        random_fitness=random_fitness,
        candidates={c.id: c for c in candidates},
        best=best,
        iteration=2,
    )


@pytest.fixture
def session(tmp_path):
    field = StateField(name="place")
    with Journal(tmp_path / "journal.jsonl") as journal:
        yield SimpleNamespace(
            config=SimpleNamespace(method=METHOD, seed=0, workers=1),
            journal=journal,
            objects=ObjectStore(tmp_path / "objects"),
            sandbox=None,
            task=SimpleNamespace(
                layout=StateLayout((field,)),
                file=SimpleNamespace(training=SimpleNamespace(total_timesteps=100, gamma=0.99)),
            ),
            ledger=Ledger(Limits(max_trainings=3)),
            check_wall_clock=lambda key: None,
        )


def best_of(session, *candidates, **state):
    known = state_of(*candidates, **state)
    search._take_best(session, known)
    return known.best


def test_a_confirmed_candidate_stands_above_a_lucky_one(session):
    assert best_of(session, candidate("i01c01", 1.0), candidate("i01c02", 0.6, confirmed=0.5)) == "i01c02"


def test_a_confirmed_flop_does_not_stand_above_the_others(session):
    flop, other = candidate("i01c01", 0.5, confirmed=0.0), candidate("i01c02", 0.45)
    assert best_of(session, flop, other) == "i01c02"


def test_the_incumbent_stays_unless_it_is_beaten(session):
    equals = [candidate("i01c01", 0.5, confirmed=0.5), candidate("i02c00", 0.5, confirmed=0.5)]
    assert best_of(session, *equals, best="i01c01") == "i01c01"
    assert best_of(session, *reversed(equals), best="i02c00") == "i02c00"


def test_a_failed_candidate_is_never_the_best(session):
    failed = candidate("i01c01", 1.0)
    failed.fail(FailureCode.DRIFT, "it drifts")
    assert best_of(session, failed, best="i01c01") is None
    assert best_of(session, failed, candidate("i01c02", 0.2), best="i01c01") == "i01c02"


def test_challengers_are_what_beats_the_best_and_a_random_policy(session):
    known = state_of(
        candidate("i01c01", 0.9, confirmed=0.4),
        candidate("i01c02", 0.5),
        candidate("i02c00", 0.7),
        candidate("i02c01", 0.3),
        candidate("i02c02"),
        best="i01c01",
    )
    assert [c.id for c in _challengers(session, known)] == ["i02c00", "i01c02"]
    assert _challengers(session, state_of(candidate("i01c01", 0.1), random_fitness=0.1)) == []


@pytest.fixture
def screened(session, monkeypatch):
    """Let screening find out what the test says."""

    def run(known, new, *results):
        monkeypatch.setattr(proposing, "screen", lambda sources, **_: list(results))
        proposing.screen_candidates(session, known, new)

    return run


def passed(value):
    return Screened(returns=np.array([0.0, value]), reward=np.linspace(0, value, 9))


def test_a_carried_candidate_that_fails_on_the_grown_store_leaves_no_scores_behind(session, screened):
    carried = candidate("i01c01")
    carried.preference, carried.returns, carried.reward = 0.9, np.zeros(1), np.zeros(3)
    new = candidate("i02c00")
    known = state_of(carried, new)
    screened(known, [new], passed(1.0), Screened(failure=FailureCode.NON_FINITE, message="NaN"))
    assert carried.failure == FailureCode.NON_FINITE
    assert carried.returns is None
    assert [c.id for c in proposing.prefer(session, known)] == ["i02c00"]


def test_one_slow_answer_does_not_cost_the_run_its_best(session, screened):
    best, new = candidate("i01c01", 0.9, confirmed=0.9), candidate("i02c00")
    known = state_of(best, new, best="i01c01")
    screened(known, [new], passed(1.0), Screened(failure=FailureCode.SLOW, message="a busy machine"))
    assert best.failure is None
    assert best.returns is None
    assert best_of(session, best, new, best="i01c01") == "i01c01"


def test_a_source_that_is_no_text_is_a_failure_like_any_other(session, screened):
    new = candidate("i02c00", source='x = "\ud83d"')
    screened(state_of(new), [new], Screened(failure=FailureCode.SYNTAX, message="not text"))
    assert new.failure == FailureCode.SYNTAX


def test_plans_that_do_not_all_fit_reserve_nothing(session):
    plans = [
        full_plan(session, f"final/winner/s{i}", source="# code", baseline=None, seed=i, judge_seeds=[1])
        for i in range(4)
    ]
    with pytest.raises(BudgetExhausted):
        full_budget._reserve(session, state_of(), plans)
    full_budget._reserve(session, state_of(), plans[:3])


def test_an_arm_with_failed_trainings_has_no_normalised_score():
    arms = {
        name: {"fitness": fitness, "n_failed": 0}
        for name, fitness in (("winner", [2.0, 2.0]), ("human", [1.0, 1.0]), ("sparse", [0.0, 0.0]))
    }
    assert _normalised(arms) == 2.0
    arms["winner"]["n_failed"] = 1
    assert _normalised(arms) is None


def test_a_decision_says_how_many_proposals_are_constant(session, screened):
    flat, good = candidate("i02c00"), candidate("i02c01")
    known = state_of(flat, good)
    screened(
        known, [flat, good], Screened(is_constant=True, returns=np.ones(2), reward=np.ones(9)), passed(1.0)
    )
    assert [c.id for c in proposing.prefer(session, known)] == ["i02c01"]
    assert session.journal._decisions["i02/prefer"]["n_constant"] == 1


@pytest.mark.parametrize(("parent", "shown"), [("best", "i01c00"), ("last", None)])
def test_whose_code_is_to_be_improved_is_for_the_method_to_say(parent, shown):
    config = MethodConfig.model_validate({"propose": {"parent": parent}})
    session = SimpleNamespace(
        config=SimpleNamespace(method=config, seed=0),
        coder=SimpleNamespace(reads_feedback=True, preferred_candidates=1),
    )
    state = state_of(candidate("i01c00"), best="i01c00")
    request = proposing.proposal_request(session, state)
    assert (request.best and request.best.id) == shown
