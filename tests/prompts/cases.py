"""Every prompt that a run can send, for any task, with evidence as the stages make it."""

import json
from dataclasses import replace

import numpy as np

from rewardsmith.config import FeedbackConfig, ModelConfig, ProposeConfig, GateConfig
from rewardsmith.contract.layout import ActionSpec
from rewardsmith.errors import FailureCode
from rewardsmith.services.chat.base import ChatReply
from rewardsmith.services.chat.calls import ModelAnswer
from rewardsmith.services.models.base import (
    Broken,
    CandidateRecord,
    FailureNote,
    Proposal,
    ProposeRequest,
    TaskBrief,
    Turn,
)
from rewardsmith.services.models.llm.coder import LanguageModelCoder
from rewardsmith.services.models.llm.template import Template
from rewardsmith.stages.evaluator import Evaluator
from rewardsmith.stages.evidence import (
    Rescored,
    evidence,
    preference_feedback,
    process_feedback,
    rollout_feedback,
)
from rewardsmith.stages.store import TrajectoryStore
from rewardsmith.types import RewardAnswer, Trajectory

OUTPUTS = ("code", "template")

REWARD = """\
def compute_reward(state, action, next_state):
    effort = -{weight} * np.mean(np.square(action), axis=-1)
    return effort, {{"effort": effort}}
"""

CRITIQUE = {
    "diagnosis": "The policy saves effort and does nothing else.",
    "components": [{"name": "effort", "verdict": "change", "reason": "Its share is 1."}],
    "changes": ["Pay for what the goal asks for."],
    "hacking_suspicion": "high",
    "hacking_reason": "The return rises and the fitness does not.",
}
RUBRIC = {"criteria": [{"name": "goal", "question": "Does the last state show what the goal asks for?"}]}


def made_up_brief(task):
    """A brief of a real task, without its environment."""
    action = ActionSpec(dim=2, low=(-1.0, -1.0), high=(1.0, 1.0))
    return brief_of(task, action)


def brief_of(task, action):
    ranges = {f.name: (f.low or -1.0, f.high or 1.0) for f in task.layout.fields}
    return TaskBrief(name=task.name, goal=task.file.goal, layout=task.layout, action=action, ranges=ranges)


def store_of(brief, n=4, seed=0):
    rng = np.random.default_rng(seed)
    episodes = [
        Trajectory(
            state=rng.normal(size=(9 + i, brief.layout.dim)),
            action=rng.normal(size=(8 + i, brief.action.dim)),
            terminated=bool(i % 2),
            fitness=i / n,
            progress=i / (2 * n),
            success=i > 1,
            success_last=i > 2,
            origin="random",
        )
        for i in range(n)
    ]
    return TrajectoryStore().grown(episodes, "ref")


def rescored(store, seed=0):
    rng = np.random.default_rng(seed)
    components = {"effort": rng.normal(size=len(store.transitions)), "none": np.zeros(len(store.transitions))}
    return Rescored(
        store=store, answer=RewardAnswer(reward=components["effort"], components=components, cpu_s=0.0)
    )


def checkpoint(step, fitness=(0.2, 0.4)):
    window = {"mean": 0.1 * step, "std": 0.1, "min": -1.0, "max": 1.0 + step}
    still = {"mean": 0.0, "std": 0.0, "min": 0.0, "max": 0.0}
    return {
        "step": step,
        "return": [1.0, 3.0],
        "fitness": list(fitness),
        "progress": [0.5, 0.7],
        "success": [True, False],
        "success_last": [False, False],
        "length": [8, 9],
        "own_return": 1.0,
        "statistics": [{"reward": window, "components": {"effort": window, "none": still}}],
    }


def evidence_of(brief, failure=None):
    store = store_of(brief)
    own = rescored(store)
    return evidence(
        feedback=FeedbackConfig(),
        process=process_feedback([checkpoint(100), checkpoint(200)], own),
        rollouts=rollout_feedback(own, brief.layout),
        preference=preference_feedback(own, GateConfig(min_gap=0.01)),
        failure=failure,
    )


def terms_of(brief, weight=1.0, shape="less"):
    """An answer in the template's form; its first measure is one that every task has."""
    measure = list(Template(brief).values)[-1]
    return json.dumps({"terms": [{"measure": measure, "shape": shape, "weight": weight, "only_near": None}]})


def record_of(brief, name="i01c00", output="code", weight=1.0, **results):
    source, genome = REWARD.format(weight=weight), None
    if output == "template":
        proposal = Template(brief).read(ChatReply(text=terms_of(brief, weight)), "fresh", ())
        source, genome = proposal.source, proposal.genome
    return CandidateRecord(id=name, source=source, genome=genome, **({"fitness": 0.5} | results))


def turn_of(brief, name="i01c00", output="code", weight=1.0, critique=CRITIQUE, **results):
    return Turn(
        candidate=record_of(brief, name, output, weight, **results),
        evidence=evidence_of(brief, failure="slow: 256 rows took 200 ms"),
        critique=critique,
    )


def request_of(brief, iteration=1, n=2, **known):
    return ProposeRequest(brief=brief, n=n, seed=0, iteration=iteration, **known)


def full_request(brief, output="code"):
    """A request with all that a request can hold."""
    return request_of(
        brief,
        iteration=4,
        turns=(
            turn_of(brief, "i01c00", output, 1.0),
            turn_of(brief, "i02c00", output, 3.0, critique=None, fitness=None),
        ),
        best=record_of(brief, "i03c00", output, 10.0, progress=0.3),
        failures=(FailureNote(code=FailureCode.NON_FINITE, message="reward is not finite", count=3),),
    )


class Asked:
    """Stands for a model: keeps what it is asked, and says what it is told to, then nothing more."""

    def __init__(self, *texts):
        self.calls, self._texts = [], list(texts)

    def __call__(self, calls):
        self.calls += calls
        return [self._answer() for _ in calls]

    def _answer(self):
        if not self._texts:
            return ModelAnswer(reply=None, message="it says nothing")
        said = self._texts.pop(0)
        return ModelAnswer(reply=said if isinstance(said, ChatReply) else ChatReply(text=said))

    @property
    def requests(self):
        return [call.request for call in self.calls]


def coder_of(output="code", **settings):
    return LanguageModelCoder(ModelConfig(name="openai/any"), ProposeConfig(output=output, **settings))


def broken_by(code, message="", source="", said="", genome=None, key="i04/c00"):
    proposal = Proposal(source=source, origin="fresh", said=said, genome=genome, failure=code)
    return Broken(key=key, proposal=proposal, failure=code, message=message)


def prompts_of(brief, *, full=None, critique_of=None, broken=None, rubric=RUBRIC):
    """Return every prompt that a run can send about a task, by name: all messages, and the schema."""
    found = {}
    for output in OUTPUTS:
        asked, coder, request = Asked(), coder_of(output), full or full_request(brief, output)
        coder.propose(request_of(brief, n=1), asked)
        coder.propose(replace(request, n=1), asked)
        judged = tuple(record_of(brief, name, output, 2.0, progress=0.3) for name in ("i01c00", "i01c02"))
        for crossover in (0.0, 1.0):
            breeder = coder_of(output, islands=2, crossover=crossover)
            breeder.propose(replace(request, n=1, history=judged), asked)
        potential = replace(request, n=1, brief=replace(brief, shaping=True))
        coder.propose(potential, asked)
        coder.repair(potential, [broken_by(FailureCode.SIGNATURE, "no potential")], 1, asked)
        for code in FailureCode:
            rows = [broken_by(code, "line 3: it is wrong", REWARD.format(weight=2.0)), broken_by(code, "why")]
            coder.repair(request, broken or rows, 1, asked)
        found |= {f"{output} {i}": spoken(request) for i, request in enumerate(asked.requests)}
    asked = Asked("no JSON", json.dumps(RUBRIC), "no JSON", json.dumps(CRITIQUE))
    evaluator = Evaluator(ask=asked, max_tokens=500)
    measured = critique_of or evidence_of(brief)
    evaluator.rubric(brief)
    evaluator.critique("k", brief, REWARD.format(weight=1.0), measured, rubric, (b"png",))
    nothing = evidence(feedback=FeedbackConfig(), process=None, rollouts=[], preference=None)
    evaluator.critique("k", brief, REWARD.format(weight=1.0), nothing, None)
    told = {f"evaluator {i}": spoken(request) for i, request in enumerate(asked.requests)}
    first, second = store_of(brief, n=2).trajectories
    choices = [evaluator.choice("k", brief, first, second, shown) for shown in (rubric, None)]
    return found | told | {f"choice {i}": spoken(call.request) for i, call in enumerate(choices)}


def spoken(request):
    """All that a model is told: texts and schema."""
    schema = [json.dumps(request.schema, indent=1)] if request.schema is not None else []
    return "\n".join([*(message.text for message in request.messages), *schema])
