"""What a language model is told: the same for all samples of an iteration, what changes last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardsmith.errors import FailureCode
from rewardsmith.services.chat.base import ChatMessage
from rewardsmith.services.models.base import Broken, CandidateRecord, ProposeRequest
from rewardsmith.services.models.builtin.terms import MAX_TERMS
from rewardsmith.services.models.llm.state_class import state_class
from rewardsmith.services.models.llm.template import WEIGHTS
from rewardsmith.services.prompting import fenced, render
from rewardsmith.worker.reward.frame import MAX_COMPONENTS, MAX_MAGNITUDE
from rewardsmith.worker.reward.namespace import ALLOWED_BUILTINS

_EXAMPLES = {
    "pole": (
        "keep the cart in the middle and the pole upright",
        ("pole", "cart", "pendulum", "upright", "balance"),
    ),
    "boat": ("bring the boat to the pier and stop there", ()),
}
"""By name, the task, and the words that show another to be of its kind: no answer must be given away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Renders the messages to a coder.

    Attributes:
        output: `code` or `template`.
        few_shot: whether an example is shown.
        measures: of a template, what may be measured.
    """

    output: str
    few_shot: bool
    measures: tuple[str, ...] = ()

    def messages(self, request: ProposeRequest) -> tuple[ChatMessage, ...]:
        """Return the conversation that asks for proposals."""
        remarks = self._remarks(request)
        messages = self._opening(request, "" if request.turns else remarks)
        for i, turn in enumerate(request.turns):
            is_last = i == len(request.turns) - 1
            said = self._said(turn.candidate.source, turn.candidate.genome)
            messages.append(ChatMessage(role="assistant", text=said))
            feedback = render(
                "coder/feedback.j2",
                trained=turn.candidate.fitness is not None,
                evidence=turn.evidence,
                critique=turn.critique,
                remarks=remarks if is_last else "",
            )
            messages.append(ChatMessage(role="user", text=feedback))
        return tuple(messages)

    def breeding(
        self, request: ProposeRequest, parents: Sequence[CandidateRecord]
    ) -> tuple[ChatMessage, ...]:
        """Return the conversation that asks to vary one earlier reward, or to join two."""
        rows = [
            {
                "fitness": parent.fitness,
                "progress": parent.progress,
                "success_rate": parent.success_rate,
                "said": self._said(parent.source, parent.genome),
            }
            for parent in parents
        ]
        remarks = self._remarks(replace(request, best=None, turns=()))
        text = render("coder/breed.j2", parents=rows, remarks=remarks)
        first, question = self._opening(request, "")
        return first, ChatMessage(role="user", text=f"{question.text}\n{text}")

    def _opening(self, request: ProposeRequest, remarks: str) -> list[ChatMessage]:
        system = render(
            "coder/system.j2",
            output=self.output,
            shaping=request.brief.shaping,
            max_magnitude=f"{MAX_MAGNITUDE:g}",
            max_components=MAX_COMPONENTS,
            max_terms=MAX_TERMS,
            weights=", ".join(f"{weight:g}" for weight in WEIGHTS),
            builtins=", ".join(sorted(name for name in ALLOWED_BUILTINS if name.islower())),
        )
        initial = self._initial(request, remarks)
        return [ChatMessage(role="system", text=system), ChatMessage(role="user", text=initial)]

    def repair(self, request: ProposeRequest, broken: Broken) -> tuple[ChatMessage, ...]:
        """Return the conversation that asks for a mended proposal."""
        messages = self.messages(request)
        proposal = broken.proposal
        said = proposal.said or (self._said(proposal.source, proposal.genome) if proposal.source else "")
        text = render(
            "coder/repair.j2",
            code=str(broken.failure),
            message=broken.message,
            output=self.output,
            shaping=request.brief.shaping,
        )
        if broken.failure == FailureCode.EMPTY or not said:
            # No assistant message can be empty, so what is to be said joins the question.
            last = messages[-1]
            return *messages[:-1], ChatMessage(
                role=last.role, text=f"{last.text}\n{text}", images=last.images
            )
        return *messages, ChatMessage(role="assistant", text=said), ChatMessage(role="user", text=text)

    def _initial(self, request: ProposeRequest, remarks: str) -> str:
        return render(
            "coder/initial.j2",
            goal=request.brief.goal,
            state_class=state_class(request.brief),
            example=self._example(request) if self._shows_example(request) else None,
            output=self.output,
            measures=self.measures,
            facts=request.brief.facts,
            remarks=remarks,
        )

    def _shows_example(self, request: ProposeRequest) -> bool:
        # The examples are rewards, not potentials.
        return self.few_shot and self.output == "code" and not request.brief.shaping

    def _example(self, request: ProposeRequest) -> dict[str, str]:
        words = f"{request.brief.goal} {' '.join(f.name for f in request.brief.layout.fields)}".lower()
        name, goal = next(
            (name, goal) for name, (goal, kin) in _EXAMPLES.items() if not any(word in words for word in kin)
        )
        return {"goal": goal, "code": render(f"coder/examples/{name}.py").rstrip()}

    def _said(self, source: str, genome: Mapping[str, Any] | None) -> str:
        """Return a proposal in the form in which it is answered."""
        if self.output == "template" and genome is not None and "answer" in genome:
            return str(genome["answer"])
        return fenced(source, "python")

    def _remarks(self, request: ProposeRequest) -> str:
        shown = {turn.candidate.id for turn in request.turns}
        best = request.best if request.best is not None and request.best.id not in shown else None
        if not (best or request.failures or request.turns):
            return ""
        return render(
            "coder/remarks.j2",
            best=best,
            best_said=best and self._said(best.source, best.genome),
            failures=request.failures,
            again=bool(request.turns),
            output=self.output,
        )
