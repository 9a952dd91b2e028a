"""The coder that asks a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rewardsmith.config import ModelConfig, ProposeConfig
from rewardsmith.errors import FailureCode
from rewardsmith.services.chat.base import ChatMessage, ChatReply, ChatRequest
from rewardsmith.services.chat.calls import Ask, ModelAnswer, ModelCall
from rewardsmith.services.models.base import Broken, CandidateRecord, Proposal, ProposeRequest, TaskBrief
from rewardsmith.services.models.extraction import extract_code
from rewardsmith.services.models.llm.breeding import breeds, draw_parents
from rewardsmith.services.models.llm.conversation import Conversation
from rewardsmith.services.models.llm.template import Template
from rewardsmith.services.sandbox.untrusted import clean

_MAX_SAID_CHARS = 4000


class AnswerForm(Protocol):
    """What answers look like: code, or a choice of terms."""

    def read(self, reply: ChatReply, origin: str, parents: tuple[str, ...]) -> Proposal:
        """Return the proposal that an answer holds; a failure is part of it, never raised."""
        ...


class CodeForm:
    """Answers are Python."""

    def read(self, reply: ChatReply, origin: str, parents: tuple[str, ...]) -> Proposal:
        """Return the code of an answer; see `AnswerForm`."""
        found = extract_code(
            reply.text,
            reasoning=reply.reasoning,
            finish_reason=reply.finish_reason,
            refusal=reply.refusal,
        )
        return Proposal(
            source=found.source,
            origin=origin,
            parents=parents,
            failure=found.failure,
            message=found.message,
            said="" if found.source else clean(reply.text, _MAX_SAID_CHARS),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    question: ChatRequest
    origin: str
    parents: tuple[str, ...]


class LanguageModelCoder:
    """Asks a language model for each proposal, with one and the same conversation.

    Args:
        model: whom it asks.
        config: how it asks.
    """

    reads_feedback = True

    def __init__(self, model: ModelConfig, config: ProposeConfig) -> None:
        self.name = model.name
        self._config = config
        self._max_tokens = model.max_tokens
        # A choice of terms costs a tenth of a page of code.
        self.preferred_candidates = 16 if config.output == "template" else 8

    def propose(self, request: ProposeRequest, ask: Ask) -> list[Proposal]:
        """Return the proposals of `request.n` samples, fewer where the budget holds no more."""
        plans = self._plans(request)
        calls = [
            ModelCall(key=f"i{request.iteration:02d}/c{i:02d}/propose", asker="coder", request=plan.question)
            for i, plan in enumerate(plans)
        ]
        form = self._form(request.brief)
        return [
            _read(form, answer, plan.origin, plan.parents)
            for plan, answer in zip(plans, ask(calls), strict=False)
        ]

    def repair(
        self, request: ProposeRequest, broken: Sequence[Broken], attempt: int, ask: Ask
    ) -> list[Proposal]:
        """Ask once more about each broken proposal, with the reason."""
        conversation = self._conversation(request.brief)
        calls = [
            ModelCall(
                key=f"{each.key}/repair{attempt}",
                asker="coder",
                request=self._request(conversation.repair(request, each), request.brief),
            )
            for each in broken
        ]
        form = self._form(request.brief)
        return [
            _read(form, answer, "repaired", each.proposal.parents)
            for each, answer in zip(broken, ask(calls), strict=False)
        ]

    def _plans(self, request: ProposeRequest) -> list[_Plan]:
        """Return what each sample is asked: the same, or where populations breed, to vary its parents."""
        parents = (request.turns[-1].candidate.id,) if request.turns else ()
        same = _Plan(
            question=self.question(request), origin="improved" if parents else "fresh", parents=parents
        )
        if not breeds(self._config):
            return [same] * request.n
        drawn = (draw_parents(request, index, self._config) for index in range(request.n))
        return [self._bred(request, pair) if pair else same for pair in drawn]

    def _bred(self, request: ProposeRequest, parents: Sequence[CandidateRecord]) -> _Plan:
        messages = self._conversation(request.brief).breeding(request, parents)
        return _Plan(
            question=self._request(messages, request.brief),
            origin="crossover" if len(parents) > 1 else "mutation",
            parents=tuple(parent.id for parent in parents),
        )

    def question(self, request: ProposeRequest) -> ChatRequest:
        """Return what every sample of an iteration is asked."""
        return self._request(self._conversation(request.brief).messages(request), request.brief)

    def _request(self, messages: tuple[ChatMessage, ...], brief: TaskBrief) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            temperature=self._config.temperature,
            max_tokens=self._max_tokens,
            schema=Template(brief).schema if self._config.output == "template" else None,
            schema_name="reward_terms",
        )

    def _conversation(self, brief: TaskBrief) -> Conversation:
        measures = Template(brief).measures if self._config.output == "template" else ()
        return Conversation(output=self._config.output, few_shot=self._config.few_shot, measures=measures)

    def _form(self, brief: TaskBrief) -> AnswerForm:
        return Template(brief) if self._config.output == "template" else CodeForm()


def _read(form: AnswerForm, answer: ModelAnswer, origin: str, parents: tuple[str, ...]) -> Proposal:
    if answer.reply is None:
        return Proposal(
            source="",
            origin=origin,
            parents=parents,
            failure=FailureCode.MODEL_ERROR,
            message=answer.message,
        )
    return form.read(answer.reply, origin, parents)
