"""The evaluator: a model that writes a rubric for the task, then criticises candidates on the evidence.

Critique before score, and task-specific rubrics, follow CLoud (Ankner et al., 2024) and CARMO (2024).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rewardsmith.services.chat.base import ChatMessage, ChatRequest
from rewardsmith.services.chat.calls import Ask, ModelCall
from rewardsmith.services.chat.structured import ask_for, schema_of
from rewardsmith.services.models.base import TaskBrief
from rewardsmith.services.models.llm.state_class import state_class
from rewardsmith.services.prompting import render
from rewardsmith.stages.evidence import sampled_states
from rewardsmith.types import Trajectory

RUBRIC_KEY = "rubric"
TEMPERATURE = 0.0
N_CHOICE_STATES = 10
_MAX_COMPONENTS = 12
_MAX_CHANGES = 5


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Criterion(_Answer):
    """What to look for in a rollout."""

    name: str
    question: str


class Rubric(_Answer):
    """How rollouts of one task are reviewed."""

    criteria: list[Criterion] = Field(min_length=1)


class ComponentVerdict(_Answer):
    """What is to become of one component."""

    name: str
    verdict: Literal["keep", "change", "remove"]
    reason: str


class Critique(_Answer):
    """What an evaluator says of a candidate; the critique stands before all judgements."""

    diagnosis: str = Field(min_length=1)
    components: list[ComponentVerdict] = []
    changes: list[str] = []
    hacking_suspicion: Literal["none", "low", "high"] = "none"
    hacking_reason: str = ""


class Choice(_Answer):
    """Which of two episodes is better; the critique stands before the judgement."""

    critique: str
    better: Literal["first", "second"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """Asks the evaluator model.

    Attributes:
        ask: makes calls.
        max_tokens: most tokens of one answer.
        temperature: None leaves it to the model.
    """

    ask: Ask
    max_tokens: int
    temperature: float | None = TEMPERATURE

    def rubric(self, brief: TaskBrief) -> tuple[dict[str, Any] | None, str]:
        """Return a rubric for the task, or None and why there is none; raises as `ask` does."""
        text = render(
            "evaluator/rubric.j2",
            goal=brief.goal,
            state_class=state_class(brief),
            schema=_shown(schema_of(Rubric)),
        )
        found, reason = ask_for(
            Rubric, self.ask, key=RUBRIC_KEY, asker="evaluator", request=self._request(Rubric, text)
        )
        return None if found is None else found.model_dump(), reason

    def critique(
        self,
        key: str,
        brief: TaskBrief,
        source: str,
        evidence: Mapping[str, Any],
        rubric: Mapping[str, Any] | None,
        images: tuple[bytes, ...] = (),
    ) -> tuple[dict[str, Any] | None, str]:
        """Return a critique of a candidate, or None and why there is none; raises as `ask` does.

        Args:
            key: structural key of the call.
            brief: the task.
            source: the candidate's code.
            evidence: in the form of `stages.evidence`.
            rubric: of the task, or None.
            images: PNG files of rollouts.
        """
        text = render(
            "evaluator/critique.j2",
            goal=brief.goal,
            state_class=state_class(brief),
            source=source,
            evidence=evidence,
            rubric=rubric,
            n_images=len(images),
            schema=_shown(schema_of(Critique)),
        )
        request = self._request(Critique, text, images)
        found, reason = ask_for(Critique, self.ask, key=key, asker="evaluator", request=request)
        if found is None:
            return None, reason
        critique = found.model_dump()
        critique["components"] = critique["components"][:_MAX_COMPONENTS]
        critique["changes"] = critique["changes"][:_MAX_CHANGES]
        return critique, ""

    def choice(
        self,
        key: str,
        brief: TaskBrief,
        first: Trajectory,
        second: Trajectory,
        rubric: Mapping[str, Any] | None,
    ) -> ModelCall:
        """Return the question which of two episodes did the task better; `Choice` is the form of its answer.

        Nothing that was measured of the episodes stands in it.
        """
        rollouts = [
            {
                "which": which,
                "length": len(episode),
                "terminated": episode.terminated,
                "rows": sampled_states(episode, brief.layout, N_CHOICE_STATES),
            }
            for which, episode in (("first", first), ("second", second))
        ]
        text = render(
            "evaluator/choose.j2",
            goal=brief.goal,
            state_class=state_class(brief),
            rubric=rubric,
            rollouts=rollouts,
            schema=_shown(schema_of(Choice)),
        )
        return ModelCall(key=key, asker="evaluator", request=self._request(Choice, text))

    def _request(self, form: type[BaseModel], text: str, images: tuple[bytes, ...] = ()) -> ChatRequest:
        return ChatRequest(
            messages=(
                ChatMessage(role="system", text=render("evaluator/system.j2")),
                ChatMessage(role="user", text=text, images=images),
            ),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            schema=schema_of(form),
            schema_name=form.__name__.lower(),
        )


def _shown(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=1)
