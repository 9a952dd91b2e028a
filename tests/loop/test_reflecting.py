"""The end of an iteration: who is told of, what is measured of it, and what the evaluator says."""

import json

import pytest

from loop.made_up import Box, candidate, made_up_sessions, reflected, state_of, trained
from prompts.cases import CRITIQUE, RUBRIC, Asked
from rewardsmith.config import FeedbackConfig, MethodConfig
from rewardsmith.errors import (
    BudgetExhausted,
    CandidateError,
    FailureCode,
    ModelError,
    SandboxUnavailableError,
)
from rewardsmith.loop.reflecting import reflect
from rewardsmith.services.sandbox.local import LocalSandbox

NO_CRITIQUE = MethodConfig(feedback=FeedbackConfig(critique=False))


@pytest.fixture
def opened(tmp_path):
    with made_up_sessions(tmp_path) as make:
        yield make


def told_of(session, chosen, *others, **state):
    """The id of the candidate that a turn is about, or None."""
    known = state_of(*chosen, *others, **state)
    reflect(session, known, chosen)
    return known.turns[-1].candidate.id if known.turns else None


def test_the_best_that_was_trained_is_told_of(opened):
    session = opened()
    weak, strong = trained(session, "i01c00", 0.1), trained(session, "i01c01", 0.7)
    ranked = candidate("i01c02", preference=0.99)
    assert told_of(session, [weak, strong], ranked) == "i01c01"


def test_one_that_failed_in_training_is_not_told_of(opened):
    session = opened()
    failed, weak = trained(session, "i01c00", 0.9), trained(session, "i01c01", 0.1)
    failed.fail(FailureCode.DRIFT, "it drifts")
    assert told_of(session, [failed, weak]) == "i01c01"


def test_where_none_was_trained_the_best_ranked_of_the_iteration_is_told_of(opened):
    others = [
        candidate("i01c09", preference=1.0),
        candidate("i02c00", preference=0.2),
        candidate("i02c01", preference=0.6),
        candidate("i02c02", failure=FailureCode.SLOW, preference=0.9),
        candidate("i02c03"),
    ]
    assert told_of(opened(), [], *others, iteration=2) == "i02c01"


def test_where_nothing_is_valid_nothing_is_told(opened):
    session = opened()
    assert told_of(session, [], candidate("i01c00", failure=FailureCode.SLOW)) is None
    assert session.journal._decisions == {}
    assert session.sandbox.n_opened == 0


def test_a_coder_that_reads_no_feedback_is_told_nothing(opened):
    session = opened()
    session.coder.reads_feedback = False
    assert told_of(session, [trained(session, "i01c00", 0.5)]) is None
    assert session.sandbox.n_opened == 0


def test_a_turn_holds_what_was_measured(opened):
    session = opened()
    (turn,) = reflected(session).turns
    found = turn.evidence
    assert found["process"]["checkpoints"][0]["fitness"] == 0.5
    assert found["process"]["components"][0]["share"] == pytest.approx(1.0)
    assert [r["return"] for r in found["rollouts"]] == [7 + 10 + 13, 5 + 8]
    assert found["preference"]["accuracy"] == 1.0
    assert (turn.critique, turn.candidate.fitness) == (None, 0.5)
    assert session.sandbox.n_closed == 1
    decision = session.journal._decisions["i01/reflect"]
    assert decision["candidate"] == "i01c00"
    assert session.objects.get_json(decision["evidence"]) == found


def test_of_an_untrained_candidate_only_the_preference_is_measured(opened):
    session = opened()
    (turn,) = reflected(session, candidate("i01c00", preference=0.5)).turns
    assert (turn.evidence["process"], turn.evidence["rollouts"]) == (None, [])
    assert turn.evidence["preference"]["pairs"] == 1
    assert turn.candidate.fitness is None


@pytest.mark.parametrize("place", ["on_open", "on_call"])
@pytest.mark.parametrize("is_trained", [True, False])
def test_a_candidate_that_fails_when_it_is_measured_costs_the_numbers_and_not_the_run(
    opened, place, is_trained
):
    box = Box(**{place: CandidateError(FailureCode.SLOW, "256 rows took 200 ms")})
    session = opened(sandbox=box)
    made = trained(session, "i01c00", 0.5) if is_trained else candidate("i01c00")
    (turn,) = reflected(session, made).turns
    assert turn.evidence["failure"] == "slow: 256 rows took 200 ms"
    assert (turn.evidence["rollouts"], turn.evidence["preference"]) == ([], None)
    assert (turn.evidence["process"] is not None) == is_trained
    assert box.n_closed == (1 if place == "on_call" else 0)


def test_a_failure_of_the_box_is_nobodys_result(opened):
    session = opened(sandbox=Box(on_call=SandboxUnavailableError("no box")))
    with pytest.raises(SandboxUnavailableError):
        reflected(session)
    assert session.sandbox.n_closed == 1


def test_switched_off_parts_are_not_told(opened):
    feedback = FeedbackConfig(process=False, trajectory=False, preference=False)
    (turn,) = reflected(opened(method=MethodConfig(feedback=feedback))).turns
    assert turn.evidence == {"process": None, "rollouts": [], "preference": None, "failure": None}


def test_the_evaluators_critique_stands_in_the_turn(opened):
    asked = Asked(json.dumps(RUBRIC), json.dumps(CRITIQUE))
    session = opened(ask=asked, evaluator=True)
    known = reflected(session)
    assert known.turns[0].critique == CRITIQUE
    assert known.rubric == (RUBRIC,)
    assert [call.key for call in asked.calls] == ["rubric", "i01/critique"]
    assert session.reporter.lines == [f"  critique of i01c00: {CRITIQUE['diagnosis']}"]
    ref = session.journal._decisions["i01/reflect"]["critique"]
    assert session.objects.get_json(ref) == CRITIQUE


def test_the_rubric_is_written_once(opened):
    asked = Asked(json.dumps(RUBRIC), json.dumps(CRITIQUE), json.dumps(CRITIQUE))
    session = opened(ask=asked, evaluator=True)
    known = reflected(session)
    known.iteration = 2
    reflect(session, known, [trained(session, "i02c00", 0.6)])
    assert [call.key for call in asked.calls] == ["rubric", "i01/critique", "i02/critique"]
    assert all("goal: Does the last" in r.messages[1].text for r in asked.requests[1:])


def test_a_rubric_that_is_not_to_be_had_costs_the_rubric_and_is_not_asked_for_again(opened):
    asked = Asked("no", "no", json.dumps(CRITIQUE), json.dumps(CRITIQUE))
    session = opened(ask=asked, evaluator=True)
    known = reflected(session)
    known.iteration = 2
    reflect(session, known, [trained(session, "i02c00", 0.6)])
    assert [turn.critique for turn in known.turns] == [CRITIQUE, CRITIQUE]
    keys = [call.key for call in asked.calls]
    assert keys == ["rubric", "rubric/repair1", "i01/critique", "i02/critique"]
    assert session.reporter.lines[0].startswith("  no rubric: ")


def test_an_evaluator_that_talks_nonsense_costs_a_critique_and_not_the_run(opened):
    session = opened(ask=Asked(json.dumps(RUBRIC), "no", "no"), evaluator=True)
    (turn,) = reflected(session).turns
    assert turn.critique is None
    assert turn.evidence["process"] is not None
    assert session.reporter.lines == ["  no critique of i01c00: it holds no JSON object"]
    assert session.journal._decisions["i01/reflect"]["critique"] is None


def test_a_budget_that_holds_no_critique_leaves_the_run_going(opened):
    def ask(calls):
        raise BudgetExhausted("max_usd is 1")

    session = opened(ask=ask, evaluator=True)
    (turn,) = reflected(session).turns
    assert turn.critique is None
    assert session.reporter.lines == ["  no critique of i01c00: max_usd is 1"]


def test_an_evaluator_that_cannot_be_used_ends_the_run(opened):
    def ask(calls):
        raise ModelError("the key is not accepted")

    with pytest.raises(ModelError):
        reflected(opened(ask=ask, evaluator=True))


def test_no_evaluator_is_asked_where_no_critique_is_wanted_or_none_is_there(opened):
    # `ask` fails the test wherever it is called.
    for session in (opened(evaluator=False), opened(evaluator=True, method=NO_CRITIQUE)):
        assert reflected(session).turns[0].critique is None


def test_what_was_measured_once_is_not_measured_again(opened):
    asked = [json.dumps(RUBRIC), json.dumps(CRITIQUE)]
    first = reflected(opened(ask=Asked(*asked), evaluator=True)).turns
    session = opened(sandbox=None, ask=Asked(*asked), evaluator=True)
    assert reflected(session).turns == first


SOURCE = """\
def compute_reward(state, action, next_state):
    {body}
    return next_state.speed, {{"speed": next_state.speed}}
"""


@pytest.mark.slow
def test_a_real_box_measures_as_the_made_up_one_does(opened):
    with LocalSandbox() as box:
        session = opened(sandbox=box)
        (turn,) = reflected(session, trained(session, "i01c00", 0.5, SOURCE.format(body="pass"))).turns
    assert [r["return"] for r in turn.evidence["rollouts"]] == [30, 13]
    assert turn.evidence["failure"] is None


@pytest.mark.slow
def test_code_that_fails_in_a_real_box_costs_the_numbers_and_not_the_run(opened):
    with LocalSandbox() as box:
        session = opened(sandbox=box)
        made = trained(session, "i01c00", 0.5, "x = 1 / 0\n" + SOURCE.format(body="pass"))
        (turn,) = reflected(session, made).turns
    assert turn.evidence["failure"].startswith("raised: ")
    assert turn.evidence["preference"] is None
