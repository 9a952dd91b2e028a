"""Proposals that fail before training are mended, a bounded number of times; failures are remembered."""

import numpy as np
import pytest

from loop.made_up import candidate, open_made_up_session, state_of
from prompts.cases import Asked, coder_of
from rewardsmith.config import MethodConfig, ProposeConfig, RepairConfig
from rewardsmith.errors import BudgetExhausted, FailureCode, ModelUnavailableError
from rewardsmith.loop import proposing
from rewardsmith.loop.failures import failure_notes
from rewardsmith.loop.proposing import proposal_request, screen_candidates
from rewardsmith.loop.repairing import repair
from rewardsmith.services.models.base import Proposal
from rewardsmith.services.sandbox.local import LocalSandbox
from rewardsmith.stages.screening import Screened

PASSED = Screened(returns=np.array([0.0, 1.0]), reward=np.linspace(0.0, 1.0, 9))
RAISED = (FailureCode.RAISED, "ZeroDivisionError (line 2)")


class ScriptedCoder:
    """Mends what the test says, one list of sources for each attempt, and keeps what it was asked."""

    name, reads_feedback, preferred_candidates = "scripted", True, 2

    def __init__(self, *attempts, raises=None):
        self.asked = []
        self._attempts, self._raises = list(attempts), raises

    def repair(self, request, broken, attempt, ask):
        self.asked.append((attempt, request, broken))
        if self._raises is not None:
            raise self._raises
        return [p if isinstance(p, Proposal) else mended(p) for p in self._attempts[attempt - 1]]


def mended(source, failure=None):
    return Proposal(source=source, origin="repaired", failure=failure, message="why" if failure else "")


def broken(name="i01c00", failure=FailureCode.RAISED, message="ZeroDivisionError (line 2)", **changes):
    return candidate(name, failure=failure, message=message, **changes)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Repair candidates; screening finds `results` in turn and `run.screened` keeps what it saw."""

    def go(coder, *new, results=(), method=None, earlier=(), **state):
        left = list(results)

        def screen(sources, **_):
            go.screened.append(sources)
            return [left.pop(0) for _ in sources]

        monkeypatch.setattr(proposing, "screen", screen)
        go.session = open_made_up_session(tmp_path, method=method, coder=coder)
        go.state = state_of(*earlier, *new, **state)
        with go.session.journal:
            repair(go.session, go.state, new)

    go.screened = []
    return go


def test_a_broken_proposal_is_mended_and_screened_again(run):
    coder, bad, good = ScriptedCoder(["x = 1"]), broken(), candidate("i01c01")
    run(coder, bad, good, results=[PASSED])
    assert (bad.failure, bad.message, bad.source) == (None, "", "x = 1")
    assert bad.mended == [RAISED]
    assert bad.returns is not None
    assert run.screened == [["x = 1"]]
    ((attempt, _, rows),) = coder.asked
    assert attempt == 1
    assert [(r.key, r.failure, r.message) for r in rows] == [("i01/c00", *RAISED)]
    assert good.returns is None, "what did not fail is left alone"


def test_what_fails_again_is_sent_back_with_the_new_reason(run):
    coder, bad = ScriptedCoder(["x = 1"], ["x = 2"]), broken()
    run(coder, bad, results=[Screened(failure=FailureCode.NON_FINITE, message="NaN"), PASSED])
    assert (bad.failure, bad.source) == (None, "x = 2")
    assert bad.mended == [RAISED, (FailureCode.NON_FINITE, "NaN")]
    assert [(a, rows[0].message) for a, _, rows in coder.asked] == [(1, RAISED[1]), (2, "NaN")]


def test_an_answer_without_code_is_sent_back_unscreened(run):
    coder, bad = ScriptedCoder([mended("", FailureCode.NO_CODE)], ["x = 2"]), broken()
    run(coder, bad, results=[PASSED])
    assert bad.failure is None
    assert run.screened == [["x = 2"]]


@pytest.mark.parametrize("attempts", [0, 1, 3])
def test_attempts_are_bounded(run, attempts):
    coder, bad = ScriptedCoder(*[[f"x = {i}"] for i in range(attempts)]), broken()
    failed = Screened(failure=FailureCode.SLOW, message="slow")
    run(coder, bad, results=[failed] * 3, method=MethodConfig(repair=RepairConfig(attempts=attempts)))
    assert len(coder.asked) == attempts
    assert bad.failure == (FailureCode.SLOW if attempts else FailureCode.RAISED)


@pytest.mark.parametrize("failure", [FailureCode.DUPLICATE, FailureCode.MODEL_ERROR])
def test_duplicates_and_calls_that_failed_are_not_mended(run, failure):
    coder, bad = ScriptedCoder(), broken(failure=failure)
    run(coder, bad)
    assert coder.asked == []
    assert bad.failure == failure


def test_a_coder_that_reads_no_feedback_is_not_asked(run):
    coder = ScriptedCoder()
    coder.reads_feedback = False
    run(coder, broken())
    assert coder.asked == []


def test_a_budget_that_holds_no_repair_leaves_the_run_going(run):
    bad = broken()
    run(ScriptedCoder(raises=BudgetExhausted("max_tokens is 5")), bad)
    assert (bad.failure, bad.message) == RAISED
    assert run.session.reporter.lines[-1] == "  they are not mended: max_tokens is 5"


def test_an_outage_is_passed_on(run):
    with pytest.raises(ModelUnavailableError):
        run(ScriptedCoder(raises=ModelUnavailableError("down")), broken())


def test_a_budget_that_holds_some_repairs_mends_the_first_of_them(run):
    first, second = broken("i01c00"), broken("i01c01")
    coder = ScriptedCoder(["x = 1"], [])
    run(coder, first, second, results=[PASSED])
    assert (first.failure, second.failure) == (None, FailureCode.RAISED)
    assert second.mended == []
    assert [row.key for row in coder.asked[1][2]] == ["i01/c01"]


def test_a_mended_proposal_that_is_there_already_is_a_duplicate_and_is_left(run):
    coder, bad = ScriptedCoder(["y = 7  # mine"]), broken()
    run(coder, bad, earlier=[candidate("i00c03", "x = 7")])
    assert bad.failure == FailureCode.DUPLICATE
    assert "i00c03" in bad.message
    assert run.screened == []
    assert len(coder.asked) == 1


def test_of_two_that_are_mended_alike_the_second_is_a_duplicate(run):
    first, second = broken("i01c00"), broken("i01c01")
    run(ScriptedCoder(["x = 7", "y = 7"]), first, second, results=[PASSED])
    assert (first.failure, second.failure) == (None, FailureCode.DUPLICATE)


def test_a_repair_knows_no_failure_that_its_proposal_was_not_told_of(run, tmp_path):
    old, bad = broken("i01c00", FailureCode.DRIFT, "it drifts"), broken("i02c00")
    coder = ScriptedCoder(["x = 1"])
    run(coder, bad, results=[PASSED], earlier=[old], iteration=2)
    (_, request, _) = coder.asked[0]
    assert [note.message for note in request.failures] == ["it drifts"]
    assert request == proposal_request(run.session, state_of(old, iteration=2))


def test_a_recorded_repair_is_not_made_anew(run):
    bad = broken()
    run(ScriptedCoder(["x = 1"]), bad, results=[PASSED])
    again = broken()
    run(ScriptedCoder(["x = 2"]), again)
    assert (again.source, again.failure) == ("x = 1", None)
    np.testing.assert_array_equal(again.returns, bad.returns)


def notes(*candidates, n_max=8):
    return [(n.code, n.message, n.count) for n in failure_notes(candidates, n_max)]


def test_failures_are_counted_and_the_most_frequent_come_first():
    many = [broken(f"i01c0{i}", message="a") for i in range(3)]
    found = notes(broken("i01c07", FailureCode.SLOW, "b"), *many)
    assert found == [(FailureCode.RAISED, "a", 3), (FailureCode.SLOW, "b", 1)]


def test_of_equally_frequent_failures_the_latest_come_first():
    a, b, c = (broken(f"i01c0{i}", message=text) for i, text in enumerate("abc"))
    assert [message for _, message, _ in notes(a, b, c)] == ["c", "b", "a"]
    assert [message for _, message, _ in notes(a, b, c, n_max=2)] == ["c", "b"]
    assert notes(a, b, c, n_max=0) == []


def test_messages_that_begin_alike_are_one_failure_told_by_its_latest_message():
    start = "x" * 60
    found = notes(broken("i01c00", message=f"{start} row 1"), broken("i01c01", message=f"{start} row 2"))
    assert found == [(FailureCode.RAISED, f"{start} row 2", 2)]
    assert len(notes(broken(message="x"), broken("i01c01", FailureCode.SLOW, "x"))) == 2


def test_failures_of_mended_versions_are_remembered():
    made = candidate("i01c00", mended=[RAISED, (FailureCode.SLOW, "slow")])
    assert {code for code, _, _ in notes(made)} == {FailureCode.RAISED, FailureCode.SLOW}


@pytest.mark.parametrize(
    "code", [FailureCode.MODEL_ERROR, FailureCode.EMPTY, FailureCode.REFUSED, FailureCode.DUPLICATE]
)
def test_what_is_not_about_code_is_not_remembered(code):
    assert notes(broken(failure=code), candidate("i01c01")) == []


BAD = """\
def compute_reward(state, action, next_state):
    return np.sqrt(-1.0 - np.abs(next_state.speed)), {}
"""
GOOD = """\
def compute_reward(state, action, next_state):
    return np.abs(next_state.speed), {"speed": np.abs(next_state.speed)}
"""


@pytest.mark.slow
def test_in_a_real_box_the_reason_reaches_the_model_and_the_mended_code_is_scored(tmp_path):
    asked = Asked(f"```python\n{BAD}```", f"```python\n{GOOD}```")
    method = MethodConfig(propose=ProposeConfig(candidates=1))
    state = state_of()
    with LocalSandbox() as box:
        session = open_made_up_session(tmp_path, method=method, coder=coder_of(), ask=asked, sandbox=box)
        with session.journal:
            new = proposing.propose(session, state)
            screen_candidates(session, state, new)
            assert new[0].failure == FailureCode.NON_FINITE
            repair(session, state, new)
    assert new[0].failure is None
    np.testing.assert_allclose(new[0].returns, [5 + 8, 7 + 10 + 13])
    first, second = asked.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert "non_finite" in second.messages[-1].text
    assert "NaN or infinite" in second.messages[-1].text
