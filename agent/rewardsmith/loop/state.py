"""What a search knows so far; rebuilt from the journal whenever the run is opened again."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewardsmith.contract.layout import ActionSpec
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.session import Session
from rewardsmith.seeds import derive_seed, episode_seeds
from rewardsmith.services.executor.trainers import Message
from rewardsmith.services.journal.journal import Effect
from rewardsmith.services.journal.ledger import Usage
from rewardsmith.services.models.base import TaskBrief, Turn
from rewardsmith.services.sandbox.base import RewardSpec
from rewardsmith.stages.gates import in_words
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.stages.training import TrainingRunner
from rewardsmith.stages.validation import N_ROWS
from rewardsmith.trajectories import load_trajectories
from rewardsmith.types import RANDOM, Transitions

STORE_TIMEOUT_S = 600.0
UNKNOWN_HORIZON = 1000
"""Policy steps that are reserved for an episode of which nothing says how long it may be."""
TRAINING_ROWS = 256
"""Row capacity of a reward process that trains: one vectorised step, or a part of a judged trajectory."""


@dataclass
class SearchState:
    """Candidates, store and best so far.

    Attributes:
        action: the task's action.
        store: judged trajectories.
        horizon: most policy steps of an episode.
        rollout_steps: by how many steps a training may overshoot: a learner ends the rollout it has begun.
        random_fitness: mean fitness of the random episodes that the store started with.
        opening_brief: the task as it was known at the start: a model's prompt must not change with the store.
        candidates: by id, in order of proposal.
        best: id of the best candidate so far, or None.
        stale_iterations: iterations since the best was last beaten.
        iteration: the last one that was begun.
        turns: what earlier iterations came to, for a coder that reads feedback.
        given: what was found of a reward that was given instead of searched for, or None.
        rubric: the evaluator's rubric, None where there is none to be had; empty before it was asked for.
    """

    action: ActionSpec
    store: TrajectoryStore
    horizon: int
    rollout_steps: int
    random_fitness: float
    opening_brief: TaskBrief
    candidates: dict[str, Candidate] = field(default_factory=dict)
    best: str | None = None
    stale_iterations: int = 0
    iteration: int = 0
    turns: list[Turn] = field(default_factory=list)
    given: Mapping[str, Any] | None = None
    rubric: tuple[Mapping[str, Any] | None, ...] = ()

    @property
    def trained(self) -> list[Candidate]:
        """Every candidate with a judged policy."""
        return [c for c in self.candidates.values() if c.is_trained]

    def brief(self, session: Session) -> TaskBrief:
        """Return what a coder may know of the task by now."""
        return replace(self.opening_brief, ranges=self.store.ranges(session.task.layout))

    def runner(self, session: Session, on_checkpoint: Any) -> TrainingRunner:
        """Return a runner for trainings of this task."""
        return TrainingRunner(
            host=session.host,
            sandbox=session.sandbox,
            objects=session.objects,
            spec=RewardSpec(layout=session.task.layout, action=self.action, max_rows=TRAINING_ROWS),
            scratch=session.scratch,
            timeout_s=session.task.file.training.timeout_s,
            on_checkpoint=on_checkpoint,
        )


def start_state(session: Session) -> SearchState:
    """Play the random episodes that a search starts from.

    Raises:
        BudgetExhausted: not even they fit into the budget.
        TrainerError: the environment failed.
    """
    seed, wanted = session.config.seed, session.config.method.store
    about = _describe(session)
    seeds = episode_seeds(seed, "store", wanted.episodes)
    expert_seeds = episode_seeds(seed, "store", wanted.expert_episodes, "expert")
    horizon = about["horizon"] or UNKNOWN_HORIZON
    n_episodes = len(seeds) + len(expert_seeds)
    session.ledger.reserve("store", Usage(env_steps=n_episodes * horizon))
    of_expert = f" and {len(expert_seeds)} of its expert's" if expert_seeds else ""
    session.reporter.line(f"Playing {len(seeds)} random episodes{of_expert} of {session.task.name}")

    def play() -> Message:
        session.scratch.mkdir(parents=True, exist_ok=True)
        file = session.scratch / "store.npz"
        job = {"kind": "store", "seeds": seeds, "expert_seeds": expert_seeds, "out_file": str(file)}
        (answer,) = session.host.run(job, STORE_TIMEOUT_S)
        return {**answer, "trajectories": session.objects.put_file(file, move=True)}

    answer = session.journal.effect(
        Effect(key="store", request={"seeds": seeds, "expert_seeds": expert_seeds}, run=play)
    )
    session.ledger.settle("store", Usage(env_steps=answer["env_steps"]))
    trajectories = load_trajectories(session.objects.get_bytes(answer["trajectories"]))
    spec: dict[str, Any] = about["action"]
    action = ActionSpec(
        dim=spec["dim"],
        discrete=spec["discrete"],
        low=spec["low"] and tuple(spec["low"]),
        high=spec["high"] and tuple(spec["high"]),
    )
    store = TrajectoryStore().grown(trajectories, answer["trajectories"])
    layout = session.task.layout
    return SearchState(
        action=action,
        opening_brief=TaskBrief(
            name=session.task.name,
            goal=session.task.file.goal,
            layout=layout,
            action=action,
            ranges=store.ranges(layout),
            axis_ranges=store.axis_ranges(layout),
            facts=_facts(session, store, about["horizon"]),
            shaping=session.config.method.train.shaping == "potential",
        ),
        store=store,
        horizon=max(horizon, *(len(t) for t in trajectories)),
        rollout_steps=about["rollout_steps"],
        random_fitness=sum(t.fitness for t in trajectories[: len(seeds)]) / len(seeds),
    )


def _facts(session: Session, store: TrajectoryStore, horizon: int | None) -> tuple[str, ...]:
    """Return how a reward of this task is ranked and trained, for who writes it."""
    file, gate = session.task.file, session.config.method.gate
    random = [t for t in store.trajectories if t.origin == RANDOM]
    n_ended = sum(t.terminated for t in random)
    training, rule = file.training, in_words(gate)
    facts = [
        f"An episode has at most {horizon} steps." if horizon else "",
        f"In one step an action is kept for {file.env.action_repeat} simulation steps."
        if file.env.action_repeat > 1
        else "",
        f"Of {len(random)} random episodes, {n_ended or 'none'} ended by themselves before that.",
        f"The learner is {training.algorithm} with a discount of {training.gamma:g}"
        + (
            "; rewards are divided by a running estimate of their scale."
            if training.normalize_reward
            else "."
        ),
        f"Before anything is trained, your reward scores recorded episodes of this task: {rule}."
        if rule is not None
        else "",
    ]
    return tuple(fact for fact in facts if fact)


def _describe(session: Session) -> Message:
    """Ask the trainer what there is to know of environment and learner."""

    def ask() -> Message:
        (answer,) = session.host.run({"kind": "describe"}, STORE_TIMEOUT_S)
        return answer

    return session.journal.effect(Effect(key="environment", request={}, run=ask))


def validation_sample(session: Session, state: SearchState) -> Transitions:
    """Return the transitions on which this iteration's candidates are validated and compared."""
    store = state.store.ranking_choice(session.config.method.store.ranked_on)
    return store.sample(N_ROWS, derive_seed(session.config.seed, "validate", f"i{state.iteration:02d}"))


def training_seed(session: Session, key: str) -> int:
    """Return the seed of a training in the search."""
    return derive_seed(session.config.seed, "train", key)


def judge_seeds(session: Session) -> tuple[int, ...]:
    """Return the held-out episodes of the search: the same for every candidate, so that luck is shared."""
    return tuple(episode_seeds(session.config.seed, "judge", session.task.file.judge.episodes))
