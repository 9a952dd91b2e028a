"""Every hostile source gets what it must, nothing is left behind, and nobody else is harmed."""

import os
import re
from dataclasses import replace

import numpy as np
import pytest

from hostile.conftest import SPEC
from hostile.corpus import load
from rewardsmith.contract.static_checks import check_source
from rewardsmith.errors import CandidateError, SandboxUnavailableError
from rewardsmith.services.sandbox.base import SandboxLimits
from rewardsmith.services.sandbox.process import ForkedProcess
from rewardsmith.stages.validation import validate
from rewardsmith.types import Transitions

CASES = load()
RAN = [case for case in CASES if case.entry in ("checked", "raw")]
VALIDATED = [case for case in CASES if case.entry == "validated"]
CONTROLLED = [case for case in CASES if case.entry == "raw" and not case.control.startswith("none")]
HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
CALLS = 3


def name(case):
    return case.name


def outcome(case, sandbox, rows):
    """Open and call the candidate a few times; return the code, the message and the process id."""
    raw = case.entry == "raw"
    source = case.raw_source(bounded=False) if raw else case.source
    try:
        process = sandbox.open(source, SPEC, case.limits, **({"raw": True} if raw else {}))
    except CandidateError as error:
        return error.code, error.message, None
    try:
        answers = [process.call(rows) for _ in range(CALLS)]
        told = "denied" if raw and not any(answer.reward.any() for answer in answers) else "answers"
        return told, process.printed(), process.pid
    except CandidateError as error:
        return error.code, error.message, process.pid
    finally:
        process.close()


@pytest.mark.parametrize("case", [case for case in CASES if case.entry == "static"], ids=name)
def test_static_checks_refuse(case):
    with pytest.raises(CandidateError) as caught:
        check_source(case.source)
    assert caught.value.code in case.expect
    if case.line is not None:
        assert f"(line {case.line})" in caught.value.message


@pytest.mark.parametrize("case", [c for c in CASES if c.entry in ("checked", "validated")], ids=name)
def test_static_checks_leave_to_the_box(case):
    check_source(case.source)


@pytest.mark.parametrize("case", RAN, ids=name)
def test_the_box_answers_with_the_right_type(case, sandbox, sibling, rows):
    code, message, pid = outcome(case, sandbox, rows)
    assert code in case.expect, message
    assert len(message) <= 2000
    assert not HIDDEN.search(message)
    if pid is not None:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    process, right = sibling
    answer = process.call(rows)
    np.testing.assert_array_equal(answer.reward, right.reward)
    np.testing.assert_array_equal(answer.components["speed"], right.components["speed"])


@pytest.mark.parametrize("case", VALIDATED, ids=name)
def test_validation_tells_what_breaks_the_contract(case, sandbox):
    rng = np.random.default_rng(1)
    sample = Transitions(
        state=rng.uniform(0.1, 1.0, (256, 7)),
        action=rng.uniform(-1.0, 1.0, (256, 2)),
        next_state=rng.uniform(0.1, 1.0, (256, 7)),
        terminated=np.arange(256) % 32 == 7,
    )
    told, message = _validated(sandbox, case, sample)
    assert told in case.expect, message


def _validated(sandbox, case, sample):
    with sandbox.open(case.source, replace(SPEC, max_rows=256), SandboxLimits()) as process:
        try:
            return ("constant" if validate(process, sample).is_constant else "valid"), ""
        except CandidateError as error:
            return str(error.code), error.message


@pytest.mark.parametrize("case", CONTROLLED, ids=name)
def test_the_same_act_succeeds_without_the_lock(case, control_server, rows, tmp_path):
    limits = SandboxLimits(call_timeout_s=20.0, memory_bytes=case.limits.memory_bytes)
    source = case.raw_source(bounded=True)
    with ForkedProcess.start(control_server, source, SPEC, limits, unlocked_in=tmp_path) as process:
        answer = process.call(rows)
        if case.control.startswith("optional") and not answer.reward.all():
            pytest.skip(f"{case.control}: {process.printed()}")
        assert answer.reward.all(), process.printed()


def test_an_unlocked_job_is_refused_by_the_fork_server_of_candidates(sandbox, rows, tmp_path):
    source = "def compute_reward(s, a, n):\n    import os\n    return s.speed, {}"
    try:
        process = ForkedProcess.start(sandbox._server, source, SPEC, SandboxLimits(), unlocked_in=tmp_path)
    except (CandidateError, SandboxUnavailableError):
        return
    with process:
        assert process.facts["landlock"] != "none"
        with pytest.raises(CandidateError, match="only numpy and math"):
            process.call(rows)
