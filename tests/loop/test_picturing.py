"""Pictures of rollouts for the evaluator: an extra that never costs a run."""

import json
from pathlib import Path

import numpy as np
import pytest

from loop.made_up import EPISODES, candidate, made_up_sessions, reflected, trained
from prompts.cases import CRITIQUE, RUBRIC, Asked
from rewardsmith.arrays import dump_arrays
from rewardsmith.config import FeedbackConfig, MethodConfig
from rewardsmith.errors import MissingExtraError, TaskError, TrainerError
from rewardsmith.services.journal.ledger import Ledger, Limits

VISUAL = MethodConfig(feedback=FeedbackConfig(visual=True))


@pytest.fixture
def opened(tmp_path):
    with made_up_sessions(tmp_path) as make:
        yield make


class Theatre:
    """Plays recorded episodes again and draws a grey square at each of two steps; or fails as it is told."""

    def __init__(self, *, raises=None, exactly=True):
        self.jobs, self._raises, self._exactly = [], raises, exactly

    def run(self, job, timeout_s):
        self.jobs.append(job)
        if self._raises is not None:
            raise self._raises
        frames = {f"frames_{i}": np.full((2, 8, 8, 3), 99, np.uint8) for i in range(len(job["episodes"]))}
        Path(job["out_file"]).write_bytes(dump_arrays(frames))
        row = {"steps": [0, 2], "replayed_exactly": self._exactly}
        return [{"episodes": [row] * len(job["episodes"]), "env_steps": 5}]


def filmed(opened, host, **services):
    asked = Asked(json.dumps(RUBRIC), json.dumps(CRITIQUE))
    session = opened(host=host, ask=asked, evaluator=True, method=VISUAL, **services)
    known = reflected(session)
    assert known.turns[0].critique == CRITIQUE
    return session, asked.requests[-1].messages[1].images


def test_pictures_of_the_best_and_the_worst_rollout_go_to_the_evaluator(opened):
    pytest.importorskip("PIL")
    host = Theatre()
    session, (picture,) = filmed(opened, host)
    assert picture.startswith(b"\x89PNG")
    (job,) = host.jobs
    # The second episode has the highest return; each is played with the seed that it was judged with.
    assert [e["index"] for e in job["episodes"]] == [1, 0]
    assert len({e["seed"] for e in job["episodes"]}) == 2
    assert session.ledger.used.env_steps == 5


def test_one_rollout_is_filmed_once(opened):
    pytest.importorskip("PIL")
    host = Theatre()
    session = opened(host=host, ask=Asked("", ""), evaluator=True, method=VISUAL)
    reflected(session, trained(session, "i01c00", 0.5, episodes=EPISODES[:1]))
    assert [e["index"] for e in host.jobs[0]["episodes"]] == [0]


def test_a_recorded_picture_is_not_played_again(opened):
    pytest.importorskip("PIL")
    _, first = filmed(opened, Theatre())
    again = Theatre()
    session, second = filmed(opened, again)
    assert (again.jobs, second) == ([], first)
    assert session.ledger.used.env_steps == 5


@pytest.mark.parametrize(
    "error",
    [
        TaskError("the environment draws nothing"),
        TrainerError("the trainer ended"),
        MissingExtraError("pictures need Pillow"),
    ],
)
def test_a_task_that_cannot_be_drawn_costs_the_pictures_and_not_the_run(opened, error):
    session, images = filmed(opened, Theatre(raises=error))
    assert images == ()
    assert session.reporter.lines[0] == f"  no pictures: {error}"


def test_a_budget_that_holds_no_pictures_costs_them_alone(opened):
    host = Theatre()
    session, images = filmed(opened, host, ledger=Ledger(Limits(max_env_steps=5)))
    assert (host.jobs, images) == ([], ())
    assert session.reporter.lines[0].startswith("  no pictures: max_env_steps is 5")


def test_nothing_is_filmed_of_an_untrained_candidate(opened):
    host = Theatre()
    session = opened(host=host, ask=Asked("", ""), evaluator=True, method=VISUAL)
    reflected(session, candidate("i01c00"))
    assert host.jobs == []
