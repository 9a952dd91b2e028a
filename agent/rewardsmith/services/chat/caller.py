"""One call with all its attempts: waits, retries, and what a model turns out not to take."""

import asyncio
import logging
import re
import time
from dataclasses import dataclass, replace
from typing import Protocol

import tenacity

from rewardsmith.config import ModelConfig
from rewardsmith.errors import ContextTooLongError, ModelError, ModelUnavailableError
from rewardsmith.services.chat.background import BackgroundLoop
from rewardsmith.services.chat.base import (
    TEMPORARY,
    CallError,
    CallFault,
    ChatClient,
    ChatReply,
    ChatRequest,
)
from rewardsmith.services.chat.faults import is_filtered
from rewardsmith.services.chat.prices import Price
from rewardsmith.services.chat.secrets import redact
from rewardsmith.services.sandbox.untrusted import clean

logger = logging.getLogger(__name__)

_WRAPPING = re.compile(r"^(?:litellm\.\w+: )?(?:\w+Error: )?(?:\w+Exception - )?")
"""What LiteLLM puts before the words of a server."""
_MAX_ADAPTATIONS = 6
_MAX_MESSAGE = 400
_GRACE = 0.2
"""How much longer than the client's own time limit the hard one is, as a share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a call.

    Attributes:
        fault: why it failed, or None.
        message: one line about that.
        status: the HTTP status of a failure, or None.
        latency_s: how long it took.
    """

    fault: CallFault | None
    message: str = ""
    status: int | None = None
    latency_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """What a call came to.

    Attributes:
        reply: the answer, or None where every attempt failed.
        fault: of the last attempt, where there is no answer.
        message: one line about that.
        usd: what it cost; None where that is not known.
        attempts: every attempt in order.
    """

    reply: ChatReply | None
    fault: CallFault | None = None
    message: str = ""
    usd: float | None = None
    attempts: tuple[Attempt, ...] = ()


class Answerer(Protocol):
    """Answers calls: a model, or a recording."""

    def ask(self, key: str, request: ChatRequest) -> CallOutcome:
        """Answer the call `key`; raises ModelError or ModelUnavailableError."""
        ...

    def cancel(self) -> None:
        """Give up all calls, for good."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


class Caller:
    """Asks one model; threads may share it.

    Args:
        client: a way to the model.
        config: how calls are made.
        price: of the model's tokens, or None.
    """

    def __init__(self, client: ChatClient, config: ModelConfig, price: Price | None) -> None:
        self._client, self._config, self.price = client, config, price
        self._background = BackgroundLoop()
        self._quirks: frozenset[str] = frozenset()

    def ask(self, key: str, request: ChatRequest) -> CallOutcome:
        """Return the answer, or the failure that outlasted all attempts; `key` only matters to recordings.

        Raises:
            ModelError: the model cannot be used like this; trying again is of no use.
            ModelUnavailableError: the account has no quota left.
            concurrent.futures.CancelledError: `cancel` or `close` was called.
        """
        return self._background.run(self._ask(request))

    def cancel(self) -> None:
        """Give up all calls, those under way and those that are about to begin."""
        self._background.cancel()

    def close(self) -> None:
        """Give up all calls and close the connections; closing twice does no harm."""
        self._background.close(self._client.close)

    async def _ask(self, request: ChatRequest) -> CallOutcome:
        attempts: list[Attempt] = []
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(self._may_pass),
            stop=tenacity.stop_after_attempt(self._config.attempts),
            wait=self._wait_s,
            reraise=True,
        )
        try:
            reply: ChatReply = await retrying(self._adapted, request, attempts)
        except CallError as error:
            if is_filtered(error):
                reply = ChatReply(text="", finish_reason="content_filter", refusal=error.message)
            elif error.fault in TEMPORARY:
                return CallOutcome(
                    reply=None, fault=error.fault, message=error.message, attempts=tuple(attempts)
                )
            else:
                raise self._hopeless(error) from error
        return CallOutcome(reply=reply, usd=self._cost_usd(reply), attempts=tuple(attempts))

    async def _adapted(self, request: ChatRequest, attempts: list[Attempt]) -> ChatReply:
        """Make an attempt; leave out at once what the model does not take, and what does not fit."""
        for _ in range(_MAX_ADAPTATIONS):
            quirks = self._quirks
            try:
                return await self._attempt(request, quirks, attempts)
            except CallError as error:
                # Of calls at the same time, another may have found it out since this one was sent.
                if error.parameter is not None and error.parameter not in quirks:
                    logger.info("the model does not take %s", error.parameter)
                    self._quirks |= {error.parameter}
                elif error.fault == CallFault.CONTEXT_LENGTH and len(request.messages) > 3:
                    request = replace(request, messages=(*request.messages[:2], *request.messages[4:]))
                else:
                    raise
        return await self._attempt(request, self._quirks, attempts)

    async def _attempt(
        self, request: ChatRequest, quirks: frozenset[str], attempts: list[Attempt]
    ) -> ChatReply:
        started = time.perf_counter()
        try:
            # The client's limit holds for each read only; a server may send a byte now and then forever.
            async with asyncio.timeout(self._config.timeout_s * (1.0 + _GRACE)):
                reply = await self._client.complete(request, quirks)
        except (CallError, TimeoutError) as error:
            fault = self._clean(error)
        else:
            attempts.append(Attempt(fault=None, latency_s=time.perf_counter() - started))
            return replace(
                reply,
                text=self._redacted(reply.text),
                reasoning=self._redacted(reply.reasoning),
                refusal=reply.refusal and self._redacted(reply.refusal),
                model=reply.model and self._redacted(reply.model),
            )
        attempts.append(
            Attempt(
                fault=fault.fault,
                message=fault.message,
                status=fault.status,
                latency_s=time.perf_counter() - started,
            )
        )
        logger.info("a model call failed: %s", fault)
        # Out here, or the client's error would go along as its context, with the key in its text.
        raise fault

    def _clean(self, error: CallError | TimeoutError) -> CallError:
        if isinstance(error, TimeoutError):
            return CallError(CallFault.TIMEOUT, f"no answer within {self._config.timeout_s:g} s")
        text = _WRAPPING.sub("", " ".join(self._redacted(error.message).split()))
        if error.fault == CallFault.CONNECTION and self._config.base_url is not None:
            text = f"{text.rstrip('.')}: {self._config.base_url}"
        # Cut last: half of a key would not be found.
        message = clean(text, _MAX_MESSAGE)
        return CallError(
            error.fault,
            message,
            status=error.status,
            retry_after_s=error.retry_after_s,
            parameter=error.parameter,
        )

    def _redacted(self, text: str) -> str:
        return redact(text, [self._config.api_key_env] if self._config.api_key_env else ())

    def _may_pass(self, error: BaseException) -> bool:
        if not isinstance(error, CallError) or error.fault not in TEMPORARY:
            return False
        return (error.retry_after_s or 0.0) <= self._config.max_wait_s

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = error.retry_after_s if isinstance(error, CallError) else None
        doubling = tenacity.wait_random_exponential(
            multiplier=self._config.backoff_s, max=self._config.max_wait_s
        )
        # A busy server that asks for no wait at all is not to be hit at once by every attempt that is left.
        return max(doubling(state), asked_s or 0.0)

    def _cost_usd(self, reply: ChatReply) -> float | None:
        if reply.usd is not None or self.price is None:
            return reply.usd
        return self.price.cost_usd(reply.usage)

    def _hopeless(self, error: CallError) -> ModelError | ModelUnavailableError:
        name = self._config.name
        said = f"the server says: {error.message}"
        match error.fault:
            case CallFault.QUOTA:
                return ModelUnavailableError(f"the account for {name} has no quota left; {said}")
            case CallFault.AUTH:
                return ModelError(f"{name}: {self._key_hint(error.status)}; {said}")
            case CallFault.NOT_FOUND:
                where = self._config.base_url or "its provider"
                hint = (
                    ""
                    if where.rstrip("/").endswith("/v1") or where == "its provider"
                    else " (or /v1 is missing)"
                )
                return ModelError(f"there is no model {name} at {where}{hint}; {said}")
            case CallFault.CONTEXT_LENGTH:
                remedy = "set -s propose.history_turns=0, or take a model with a longer context"
                return ContextTooLongError(f"the prompt is too long for {name}; {remedy}; {said}")
            case _:
                return ModelError(f"{name} refuses the request; {said}")

    def _key_hint(self, status: int | None) -> str:
        if status == 403:
            return "this account may not use it"
        if self._config.api_key_env is not None:
            return f"the key in {self._config.api_key_env} is not accepted"
        if self._config.base_url is not None:
            return "the server wants a key; --api-key-env names the variable that holds it"
        return "the provider does not accept the key"
