"""A session and a search state that are made up, for tests of single steps of the loop."""

from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import numpy as np

from loop.tiny import ListReporter
from rewardsmith.config import MethodConfig, ModelConfig
from rewardsmith.contract.layout import ActionSpec
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.reflecting import reflect
from rewardsmith.loop.state import SearchState
from rewardsmith.services.journal.journal import Journal
from rewardsmith.services.journal.ledger import Ledger, Limits
from rewardsmith.services.journal.objects import ObjectStore
from rewardsmith.services.models.base import Proposal, TaskBrief
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.trajectories import dump_trajectories
from rewardsmith.types import RewardAnswer
from stages.made_up import LAYOUT, trajectory

ACTION = ActionSpec(dim=1)
EPISODES = (trajectory(0.0, 0.1, length=2), trajectory(1.0, 0.9, length=3, first=2.0))


def no_model(calls):
    raise AssertionError("no model is to be asked")


def open_made_up_session(folder, *, method=None, **changes):
    """Return a session whose journal is real and whose models, box and trainers are what a test says."""
    services = {
        "coder": SimpleNamespace(name="scripted", reads_feedback=True, preferred_candidates=2),
        "ask": no_model,
        "sandbox": None,
        "host": None,
        "ledger": Ledger(Limits()),
        "evaluator": None,
    } | changes
    evaluator = services.pop("evaluator")
    return SimpleNamespace(
        config=SimpleNamespace(
            method=method or MethodConfig(),
            seed=0,
            workers=1,
            model=ModelConfig(name="openai/any"),
            evaluator=ModelConfig(name="openai/critic") if evaluator else None,
        ),
        journal=Journal(folder / "journal.jsonl"),
        objects=ObjectStore(folder / "objects"),
        scratch=folder / "tmp",
        reporter=ListReporter(),
        task=SimpleNamespace(
            name="toy/task",
            layout=LAYOUT,
            file=SimpleNamespace(judge=SimpleNamespace(episodes=2), training=SimpleNamespace(gamma=0.99)),
        ),
        **services,
    )


@contextmanager
def made_up_sessions(folder):
    """Yield a way to open sessions on one journal, one after the other; their box is made up as well."""
    with ExitStack() as stack:

        def make(**services):
            session = open_made_up_session(folder, **({"sandbox": Box()} | services))
            stack.callback(session.journal.close)
            return session

        yield make


def state_of(*candidates, iteration=1, **changes):
    return SearchState(
        **{
            "action": ACTION,
            "store": TrajectoryStore().grown(EPISODES, "ref"),
            "horizon": 3,
            "rollout_steps": 8,
            "random_fitness": 0.0,
            "opening_brief": TaskBrief(name="toy/task", goal="Go.", layout=LAYOUT, action=ACTION, ranges={}),
            "candidates": {c.id: c for c in candidates},
            "iteration": iteration,
        }
        | changes
    )


def candidate(name, source=None, *, failure=None, message="", preference=None, mended=()):
    proposal = Proposal(source=f"reward = {name!r}" if source is None else source, origin="fresh")
    made = Candidate(id=name, proposal=proposal, failure=failure, message=message, preference=preference)
    made.mended += mended
    return made


def trained(session, name, fitness, source=None, episodes=EPISODES):
    """A candidate with one judged policy, whose rollouts are the given episodes."""
    made = candidate(name, source)
    window = {"mean": 0.0, "std": 1.0, "min": -1.0, "max": 1.0}
    made.checkpoints = [
        {
            "step": 10,
            "return": [1.0] * len(episodes),
            "fitness": [fitness] * len(episodes),
            "progress": [0.5] * len(episodes),
            "success": [None] * len(episodes),
            "success_last": [None] * len(episodes),
            "length": [len(e) for e in episodes],
            "own_return": 0.0,
            "statistics": [{"reward": window, "components": {"speed": window}}],
            "trajectories": session.objects.put_bytes(dump_trajectories(list(episodes))),
        }
    ]
    return made


class Box:
    """A sandbox whose rewards all pay the speed; it can fail as boxes and candidates do."""

    def __init__(self, *, on_open=None, on_call=None):
        self.n_opened = self.n_closed = 0
        self._on_open, self._on_call = on_open, on_call

    def open(self, source, spec, limits):
        self.n_opened += 1
        if self._on_open is not None:
            raise self._on_open
        return self

    def call(self, batch):
        if self._on_call is not None:
            raise self._on_call
        speed = np.array(batch.next_state[:, 2])
        return RewardAnswer(reward=speed, components={"speed": speed}, cpu_s=0.0)

    def close(self):
        self.n_closed += 1


def reflected(session, made=None, **state):
    made = made or trained(session, "i01c00", 0.5)
    known = state_of(made, **state)
    reflect(session, known, [made] if made.is_trained else [])
    return known
