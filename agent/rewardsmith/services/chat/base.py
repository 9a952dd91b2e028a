"""What is said to a chat model and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a conversation.

    Attributes:
        role: who speaks.
        text: what is said.
        images: PNG files that go with it.
    """

    role: Role
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One question; a sample of N answers is N requests.

    Attributes:
        messages: the conversation, what stays the same first, so that a provider's prompt cache holds it.
        temperature: of sampling; None leaves it to the model.
        max_tokens: most tokens of the answer, its reasoning included.
        schema: a JSON schema that the answer must follow, or None.
        schema_name: a name for the schema, of letters and underscores.
    """

    messages: tuple[ChatMessage, ...]
    temperature: float | None = None
    max_tokens: int = 8192
    schema: Mapping[str, Any] | None = None
    schema_name: str = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens as the server counts them; None where it does not say.

    Attributes:
        prompt: of the conversation, cached ones included.
        cached: of the prompt, those that came from the provider's cache.
        completion: of the answer, reasoning included.
        reasoning: of the completion, those that were reasoning.
    """

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None

    @property
    def total(self) -> int | None:
        """Prompt and completion, or None where either is unknown."""
        if self.prompt is None or self.completion is None:
            return None
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What a model answered.

    Attributes:
        text: the content; empty where there was none.
        reasoning: text of a separate reasoning field.
        finish_reason: `stop`, `length`, `content_filter`, ...; None where the server does not say.
        refusal: text of the refusal field, or None.
        usage: tokens.
        model: the model that the server says it used, or None.
        usd: what the call cost, where server or client say so.
    """

    text: str
    reasoning: str = ""
    finish_reason: str | None = None
    refusal: str | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)
    model: str | None = None
    usd: float | None = None


class CallFault(StrEnum):
    """Why a call gave no answer. The values stand in journals."""

    # worth another try
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    MALFORMED = "malformed"
    # not worth one
    AUTH = "auth"
    NOT_FOUND = "not_found"
    QUOTA = "quota"
    CONTEXT_LENGTH = "context_length"
    BAD_REQUEST = "bad_request"


TEMPORARY = frozenset(
    {
        CallFault.RATE_LIMIT,
        CallFault.SERVER,
        CallFault.TIMEOUT,
        CallFault.CONNECTION,
        CallFault.MALFORMED,
    }
)


class CallError(Exception):
    """Raised when one attempt of a call failed.

    Attributes:
        fault: the kind of failure.
        message: what is said about it; as a `Caller` tells it, one line without secrets.
        status: the HTTP status, or None.
        retry_after_s: how long the server asks to wait, or None.
        parameter: the request's parameter that the server refuses, or None.
    """

    def __init__(
        self,
        fault: CallFault,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        parameter: str | None = None,
    ) -> None:
        super().__init__(f"{fault}: {message}")
        self.fault = fault
        self.message = message
        self.status = status
        self.retry_after_s = retry_after_s
        self.parameter = parameter


class ChatClient(Protocol):
    """A way to one model: makes a single attempt and never retries."""

    async def complete(self, request: ChatRequest, quirks: frozenset[str]) -> ChatReply:
        """Ask once.

        Args:
            request: the question.
            quirks: parameters that this model refuses: `temperature`, `schema`, `max_tokens` (it wants
                `max_completion_tokens`), `max_completion_tokens` (it wants the other), `images`.

        Raises:
            CallError: there was no answer.
        """
        ...

    async def close(self) -> None:
        """Release its connections."""
        ...
