"""What a coder or an evaluator asks for, and how it gets answers; the loop records and budgets them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rewardsmith.services.chat.base import ChatReply, ChatRequest

Asker = Literal["coder", "evaluator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call.

    Attributes:
        key: structural, such as `i03/c02/propose`; a recording is found again by it.
        asker: whose model is asked.
        request: the question.
    """

    key: str
    asker: Asker
    request: ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What came of a call.

    Attributes:
        reply: the answer, or None where every attempt failed.
        message: why, in one line.
    """

    reply: ChatReply | None
    message: str = ""


Ask = Callable[[Sequence[ModelCall]], list[ModelAnswer]]
"""Makes calls at the same time and returns their answers in order.

The answers are fewer where a budget does not hold all: the first ones then. Raises BudgetExhausted where it
holds none, ModelError where the model cannot be used, ModelUnavailableError where not one call was answered.
"""


def no_calls(calls: Sequence[ModelCall]) -> list[ModelAnswer]:
    """Stand in for `Ask` where nothing may be asked."""
    raise AssertionError(f"{len(calls)} model calls where none were expected")
