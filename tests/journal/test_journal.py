"""Effects and decisions are recorded once and answered from the journal afterwards."""

import json
import os
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardsmith.errors import ReplayMismatchError, RunFolderError
from rewardsmith.services.journal.events import canonical_hash, canonical_json
from rewardsmith.services.journal.journal import Effect, Journal, read_events

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def make_effect(key="i00/c00/train/r1", *, run=None, **request):
    return Effect(key=key, request=request, run=run or (lambda: {"fitness": 1.5}))


def never_run():
    raise AssertionError("a recorded effect was run again")


def kinds_and_keys(path):
    return [(event.type, event.key) for event in read_events(path)]


def shorten(path, n_bytes):
    os.truncate(path, path.stat().st_size - n_bytes)


# One effect


def test_an_effect_is_recorded_as_request_and_answer(path):
    with Journal(path, clock=lambda: 12.5) as journal:
        assert journal.effect(make_effect("a", seed=3)) == {"fitness": 1.5}
    header, request, answer = (json.loads(line) for line in path.read_text().splitlines())
    assert header == {"type": "header", "schema_version": 1, "time": 12.5}
    assert request["request"] == {"seed": 3}
    assert answer == {
        "type": "answer",
        "key": "a",
        "hash": canonical_hash({"seed": 3}),
        "answer": {"fitness": 1.5},
        "time": 12.5,
    }


def test_a_recorded_effect_is_answered_without_being_run(path):
    with Journal(path) as journal:
        first = journal.effect(make_effect(seed=3))
    with Journal(path) as journal:
        assert journal.effect(make_effect(seed=3, run=never_run)) == first
    assert len(list(read_events(path))) == 3


def test_a_live_answer_is_what_replay_will_give(path):
    effect = make_effect("a", run=lambda: {"pair": (1, 2.0), 3: None})
    with Journal(path) as journal:
        live, replayed = journal.effect(effect), journal.effect(effect)
    assert live == replayed == {"pair": [1, 2.0], "3": None}


def test_changing_an_answer_does_not_change_the_next_replay(path):
    with Journal(path) as journal:
        journal.effect(make_effect(run=lambda: {"list": []}))["list"].append("changed")
        journal.effect(make_effect())["list"].append("changed")
        assert journal.effect(make_effect()) == {"list": []}


def test_another_request_under_a_recorded_key_names_key_and_fields(path):
    with Journal(path) as journal:
        journal.effect(make_effect("i03/c02/train/r1", seed=3, steps=100, old=1))
        with pytest.raises(ReplayMismatchError, match=r"i03/c02/train/r1: .* of new, old, steps;"):
            journal.effect(make_effect("i03/c02/train/r1", seed=3, steps=200, new=1))


def test_an_effect_that_was_in_flight_is_run_again_and_its_attempts_can_be_counted(path):
    with Journal(path) as journal, pytest.raises(ZeroDivisionError):
        journal.effect(make_effect("a", run=lambda: 1 / 0))
    with Journal(path) as journal:
        assert journal.effect(make_effect("a")) == {"fitness": 1.5}
    assert kinds_and_keys(path) == [("header", ""), ("request", "a"), ("request", "a"), ("answer", "a")]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_refused_by_key(path, value):
    with Journal(path) as journal:
        with pytest.raises(ValueError, match="answer i01/store: "):
            journal.effect(make_effect("i01/store", run=lambda: {"fitness": value}))
        with pytest.raises(ValueError, match="request i02/store: "):
            journal.effect(make_effect("i02/store", x=value))
    assert kinds_and_keys(path) == [("header", ""), ("request", "i01/store")]


def test_an_object_that_json_lacks_is_refused_by_key(path):
    with Journal(path) as journal, pytest.raises(TypeError, match=r"answer a: .*not JSON serializable"):
        journal.effect(make_effect("a", run=lambda: {"array": object()}))


@pytest.mark.parametrize("answer", [None, 1.5, [1]])
def test_an_answer_that_is_no_object_is_refused_by_key(path, answer):
    with Journal(path) as journal, pytest.raises(TypeError, match="answer a: must be a dict"):
        journal.effect(make_effect("a", run=lambda: answer))
    assert kinds_and_keys(path) == [("header", ""), ("request", "a")]


def test_a_closed_journal_refuses_to_write(path):
    journal = Journal(path)
    journal.close()
    journal.close()
    with pytest.raises(RunFolderError, match="closed"):
        journal.effect(make_effect())


# Several effects


def test_parallel_answers_come_back_in_submission_order(path):
    def slow_first(number):
        return lambda: time.sleep(0.02 * (3 - number)) or {"number": number}

    effects = [make_effect(f"e{n}", run=slow_first(n)) for n in range(3)]
    with Journal(path) as journal:
        assert journal.effects(effects, workers=3) == [{"number": n} for n in range(3)]
        assert journal.effects(effects, workers=3) == [{"number": n} for n in range(3)]
    assert [key for kind, key in kinds_and_keys(path) if kind == "request"] == ["e0", "e1", "e2"]
    assert [key for kind, key in kinds_and_keys(path) if kind == "answer"] == ["e2", "e1", "e0"]


def test_no_more_effects_run_at_a_time_than_there_are_workers(path):
    lock, running, seen = threading.Lock(), [], []

    def run():
        with lock:
            running.append(1)
            seen.append(len(running))
        time.sleep(0.005)
        with lock:
            running.pop()
        return {}

    with Journal(path) as journal:
        journal.effects([make_effect(f"e{n}", run=run) for n in range(8)], workers=2)
    assert max(seen) == 2


def test_on_answer_hears_of_replayed_and_live_answers_in_the_calling_thread(path):
    heard = []

    def on_answer(effect, answer, replayed):
        heard.append((effect.key, answer["fitness"], replayed, threading.current_thread()))

    with Journal(path) as journal:
        journal.effect(make_effect("b"))
        journal.effects([make_effect("a"), make_effect("b")], workers=2, on_answer=on_answer)
    here = threading.current_thread()
    assert heard == [("b", 1.5, True, here), ("a", 1.5, False, here)]


def test_after_a_failure_running_work_is_recorded_and_the_rest_is_not_started(path):
    failed = threading.Event()

    def fail():
        failed.set()
        raise OSError("first")

    def finish_late():
        failed.wait()
        time.sleep(0.05)
        return {"late": True}

    effects = [
        make_effect("late", run=finish_late),
        make_effect("fail", run=fail),
        make_effect("rest", run=never_run),
    ]
    with Journal(path) as journal:
        with pytest.raises(OSError, match="first"):
            journal.effects(effects, workers=2)
        assert journal.effect(effects[0]) == {"late": True}
    assert ("request", "rest") not in kinds_and_keys(path)


def test_of_several_failures_the_first_in_order_is_raised(path):
    second_failed = threading.Event()

    def fail_first():
        second_failed.wait()
        time.sleep(0.02)
        raise ValueError("first in order")

    def fail_second():
        second_failed.set()
        raise ValueError("first in time")

    with Journal(path) as journal, pytest.raises(ValueError, match="first in order"):
        journal.effects([make_effect("a", run=fail_first), make_effect("b", run=fail_second)], workers=2)


def test_a_failing_callback_stops_the_batch_and_keeps_the_answer(path):
    def refuse(*_):
        raise LookupError("no room")

    with Journal(path) as journal, pytest.raises(LookupError):
        journal.effects([make_effect("a"), make_effect("b", run=never_run)], workers=1, on_answer=refuse)
    assert kinds_and_keys(path)[1:] == [("request", "a"), ("answer", "a")]


def test_a_request_that_cannot_be_recorded_stops_the_batch(path):
    with Journal(path) as journal, pytest.raises(ValueError, match="request bad"):
        journal.effects([make_effect("bad", x=float("nan")), make_effect("b", run=never_run)], workers=1)
    assert kinds_and_keys(path) == [("header", "")]


def test_a_mismatch_is_found_before_anything_runs(path):
    with Journal(path) as journal:
        journal.effect(make_effect("b", seed=1))
        with pytest.raises(ReplayMismatchError, match="b: "):
            journal.effects([make_effect("a", run=never_run), make_effect("b", seed=2)], workers=2)


def test_parallel_effects_must_have_different_keys(path):
    with Journal(path) as journal, pytest.raises(ValueError, match="different keys"):
        journal.effects([make_effect("a"), make_effect("a")], workers=2)


def test_an_interruption_cancels_and_joins_the_running_work(path):
    ended, joined = threading.Event(), threading.Event()

    def run():
        ended.wait()
        time.sleep(0.02)
        joined.set()
        return {}

    def interrupt(*_):
        raise KeyboardInterrupt

    effects = [make_effect("quick"), make_effect("long", run=run), make_effect("rest", run=never_run)]
    with Journal(path) as journal, pytest.raises(KeyboardInterrupt):
        journal.effects(effects, workers=2, on_answer=interrupt, cancel=ended.set)
    assert joined.is_set()
    assert ("request", "rest") not in kinds_and_keys(path)


def test_an_interruption_without_cancel_is_passed_on_at_once(path):
    ended = threading.Event()

    def interrupt(*_):
        raise KeyboardInterrupt

    effects = [make_effect("quick"), make_effect("long", run=lambda: {"ended": ended.wait()})]
    with Journal(path) as journal, pytest.raises(KeyboardInterrupt):
        journal.effects(effects, workers=2, on_answer=interrupt)
    assert not ended.is_set()
    ended.set()


@pytest.mark.parametrize("interrupted_call", ["write", "fsync"])
def test_an_interruption_while_an_answer_is_written_leaves_journal_and_memory_agreeing(
    path, monkeypatch, interrupted_call
):
    real = getattr(os, interrupted_call)

    def interrupted(descriptor, *data):
        real(descriptor, *(part[:20] for part in data))
        raise KeyboardInterrupt

    def run():
        monkeypatch.setattr(os, interrupted_call, interrupted)
        return {"fitness": 1.5}

    with Journal(path) as journal:
        with pytest.raises(KeyboardInterrupt):
            journal.effect(make_effect("a", run=run))
        monkeypatch.undo()
        journal.effect(make_effect("a"))
    with Journal(path) as journal:
        assert journal.effect(make_effect("a", run=never_run)) == {"fitness": 1.5}


# Decisions


def test_a_decision_is_recorded_once(path):
    for _ in range(2):
        with Journal(path) as journal:
            journal.decide("i01/select", {"best": "i01c02", "scores": (1, 2)})
    assert kinds_and_keys(path) == [("header", ""), ("decision", "i01/select")]


def test_another_decision_on_replay_is_an_error(path):
    with Journal(path) as journal:
        journal.decide("i01/select", {"best": "i01c02", "n": 2})
        with pytest.raises(ReplayMismatchError, match=r"decision i01/select: .* of best;"):
            journal.decide("i01/select", {"best": "i01c03", "n": 2})


# Damage


def test_a_torn_last_line_is_cut_off_on_opening_and_skipped_by_readers(path):
    with Journal(path) as journal:
        journal.effect(make_effect("a"))
        journal.effect(make_effect("b"))
    shorten(path, 30)
    assert kinds_and_keys(path)[-1] == ("request", "b")
    with Journal(path) as journal:
        journal.effect(make_effect("a", run=never_run))
        journal.effect(make_effect("b"))
    assert kinds_and_keys(path)[-3:] == [("request", "b"), ("request", "b"), ("answer", "b")]


def test_an_answer_that_lacks_its_line_end_counts_as_torn(path):
    with Journal(path) as journal:
        journal.effect(make_effect("a"))
    shorten(path, 1)
    with Journal(path) as journal:
        journal.effect(make_effect("a"))
    assert kinds_and_keys(path)[1:] == [("request", "a"), ("request", "a"), ("answer", "a")]


def test_a_last_line_of_zeros_counts_as_torn(path):
    Journal(path).close()
    with path.open("ab") as file:
        file.write(bytes(50) + b"\n")
    Journal(path).close()
    assert kinds_and_keys(path) == [("header", "")]


def test_a_torn_header_is_written_anew(path):
    Journal(path).close()
    shorten(path, 10)
    Journal(path).close()
    assert kinds_and_keys(path) == [("header", "")]


HEADER = b'{"type":"header","schema_version":1,"time":0}\n'
REQUEST = b'{"type":"request","key":"a","hash":"h","request":{},"time":0}\n'
ANSWER = b'{"type":"answer","key":"a","hash":"h","answer":{},"time":0}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + REQUEST[:20] + b"\n" + ANSWER, "line 2 is not JSON"),
        (HEADER + b"\xff\xfe\n" + ANSWER, "line 2 is not JSON"),
        (HEADER + b'{"type":"request"}\n', "line 2 is not an event"),
        (HEADER + b'{"type":"request","key":"a","time":0,"request":3}\n', "line 2 is not an event"),
        (HEADER + b"[]\n", "line 2 is not an event"),
        (REQUEST, "line 1 is not a journal's header"),
        (HEADER + ANSWER, "line 2 answers no request"),
        (HEADER + REQUEST + ANSWER + ANSWER, "line 4 follows an answer to a"),
        (HEADER + REQUEST + ANSWER + REQUEST, "line 4 follows an answer to a"),
        (HEADER.replace(b"1", b"2"), "written by a newer rewardsmith .*upgrade"),
    ],
)
def test_a_damaged_or_newer_journal_is_refused_with_its_place(path, content, message):
    path.write_bytes(content)
    with pytest.raises(RunFolderError, match=message):
        Journal(path)
    assert path.read_bytes() == content


def test_events_of_unknown_type_are_read_and_otherwise_left_alone(path):
    path.write_bytes(HEADER + b'{"type":"note","key":"n","payload":{"text":"hi"},"time":4}\n')
    Journal(path).close()
    note = list(read_events(path))[1]
    assert (note.type, note.data, note.time) == ("note", {"text": "hi"}, 4)


def test_a_missing_journal_cannot_be_read(path):
    with pytest.raises(RunFolderError, match="cannot read the journal"):
        list(read_events(path))


# Hashes


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=4))
def test_equal_objects_have_equal_hashes_whatever_their_order(obj):
    turned = dict(reversed(obj.items()))
    assert canonical_hash(turned) == canonical_hash(obj) == canonical_hash(json.loads(canonical_json(obj)))


@settings(max_examples=50, deadline=None)
@given(JSON_VALUES, JSON_VALUES)
def test_different_objects_have_different_hashes(one, other):
    assert (canonical_hash(one) == canonical_hash(other)) == (canonical_json(one) == canonical_json(other))
