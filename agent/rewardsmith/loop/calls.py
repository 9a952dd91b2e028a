"""Model calls of a run: budgeted, recorded, made side by side, answered from the journal on replay."""

from collections.abc import Mapping, Sequence
from typing import Any

from rewardsmith.config import ModelConfig
from rewardsmith.errors import BudgetExhausted, ContextTooLongError, ModelUnavailableError
from rewardsmith.loop.reporter import Reporter
from rewardsmith.services.chat.base import TEMPORARY, CallFault, ChatRequest
from rewardsmith.services.chat.caller import Answerer, CallOutcome
from rewardsmith.services.chat.calls import Asker, ModelAnswer, ModelCall
from rewardsmith.services.chat.names import price
from rewardsmith.services.chat.record import AGAIN, outcome_row, read_outcome, request_row
from rewardsmith.services.journal.journal import Effect, Journal, JsonObject
from rewardsmith.services.journal.ledger import Ledger, Usage
from rewardsmith.services.journal.objects import ObjectStore

MAX_PARALLEL_CALLS = 16
_CHARS_PER_TOKEN = 2.0
"""Fewer than in English or Python: what is reserved must be enough."""
_TOKENS_PER_IMAGE = 2000
_MAY_HAVE_COST = (CallFault.TIMEOUT, CallFault.CONNECTION, CallFault.MALFORMED)


class ModelCalls:
    """Makes calls for coder and evaluator.

    Args:
        answerers: who answers whom.
        models: their models.
        journal: records requests and answers.
        objects: holds texts and images.
        ledger: holds the budgets.
        reporter: shows progress.
    """

    def __init__(
        self,
        answerers: Mapping[Asker, Answerer],
        models: Mapping[Asker, ModelConfig],
        *,
        journal: Journal,
        objects: ObjectStore,
        ledger: Ledger,
        reporter: Reporter,
    ) -> None:
        self._answerers, self._models = answerers, models
        self._journal, self._objects, self._ledger, self._reporter = journal, objects, ledger, reporter

    def ask(self, calls: Sequence[ModelCall]) -> list[ModelAnswer]:
        """Make calls side by side; see `Ask`.

        Where a budget does not hold all of them at once, they are made in waves, since most take less than
        what must be reserved.
        """
        outcomes: list[CallOutcome] = []
        while len(outcomes) < len(calls):
            try:
                wave = self._affordable(calls[len(outcomes) :])
            except BudgetExhausted as verdict:
                if not outcomes:
                    most = calls[0].request.max_tokens
                    raise BudgetExhausted(
                        f"{verdict} (its answer may take model.max_tokens, {most:,})"
                    ) from None
                self._reporter.line(f"  {len(calls) - len(outcomes)} calls are not made: {verdict}")
                break
            outcomes += self._wave(wave)
        return [ModelAnswer(reply=outcome.reply, message=outcome.message) for outcome in outcomes]

    def close(self) -> None:
        """Give up all calls and close connections."""
        for answerer in self._answerers.values():
            answerer.close()

    def _affordable(self, calls: Sequence[ModelCall]) -> Sequence[ModelCall]:
        """Reserve for as many calls as fit, one at least."""
        for i, call in enumerate(calls):
            try:
                self._ledger.reserve(call.key, self._estimate(call))
            except BudgetExhausted:
                if not i:
                    raise
                return calls[:i]
        return calls

    def _wave(self, calls: Sequence[ModelCall]) -> list[CallOutcome]:
        """Make calls until one of them is answered.

        Not one answer is an outage, not a property of the candidates: the run stops, to go on later with the
        same calls under further keys.
        """
        number = 0
        try:
            while True:
                outcomes, is_replayed = self._round(calls, f"{AGAIN}{number}" if number else "")
                if any(o.reply is not None or o.fault not in TEMPORARY for o in outcomes):
                    break
                if not is_replayed:
                    raise ModelUnavailableError(
                        f"{self._models[calls[0].asker].name} answered none of {len(calls)} calls; the last "
                        f"failure: {outcomes[-1].message}"
                    )
                number += 1
        except BaseException:
            for call in calls:
                self._ledger.release(call.key)
            raise
        for call, outcome in zip(calls, outcomes, strict=True):
            self._ledger.settle(call.key, _used(outcome, self._estimate(call)))
        return outcomes

    def _round(self, calls: Sequence[ModelCall], suffix: str) -> tuple[list[CallOutcome], bool]:
        """Make all calls and say whether all answers came from the journal."""
        asker = calls[0].asker
        label = f"model/{calls[0].key}"
        n_live = n_done = 0
        what = calls[0].key.rsplit("/", 1)[-1].rstrip("0123456789")
        self._reporter.begin(label, f"asking {self._models[asker].name}: {what}", len(calls))

        def on_answer(effect: Effect, answer: JsonObject, replayed: bool) -> None:
            nonlocal n_live, n_done
            n_live, n_done = n_live + (not replayed), n_done + 1
            self._reporter.advance(label, n_done, answer["message"][:80])

        try:
            answers = self._journal.effects(
                [self._effect(call, suffix) for call in calls],
                workers=min(len(calls), MAX_PARALLEL_CALLS),
                on_answer=on_answer,
                cancel=self._answerers[asker].cancel,
            )
        finally:
            self._reporter.end(label)
        return [read_outcome(answer, self._objects) for answer in answers], n_live == 0

    def _effect(self, call: ModelCall, suffix: str) -> Effect:
        def run() -> JsonObject:
            try:
                outcome = self._answerers[call.asker].ask(call.key, call.request)
            except ContextTooLongError as error:
                if call.asker != "evaluator":
                    raise
                # Without a critique the search goes on; without proposals it could not.
                outcome = CallOutcome(reply=None, fault=CallFault.CONTEXT_LENGTH, message=str(error))
            return outcome_row(outcome, self._objects)

        request: dict[str, Any] = {
            "model": self._models[call.asker].name,
            "asker": call.asker,
            **request_row(call.request, self._objects),
        }
        return Effect(key=call.key + suffix, request=request, run=run)

    def _estimate(self, call: ModelCall) -> Usage:
        """Return the most that a call is likely to use."""
        prompt = _prompt_tokens(call.request)
        cost = price(self._models[call.asker])
        n_most = call.request.max_tokens
        most_usd = None if cost is None else cost.prompt * prompt + cost.completion * n_most
        return Usage(tokens=prompt + n_most, usd=most_usd)


def _prompt_tokens(request: ChatRequest) -> int:
    chars = sum(len(m.text) for m in request.messages) + len(str(request.schema or ""))
    images = sum(len(m.images) for m in request.messages)
    return int(chars / _CHARS_PER_TOKEN) + images * _TOKENS_PER_IMAGE


def _used(outcome: CallOutcome, reserved: Usage) -> Usage:
    """Return what a call used; where the server does not say, the tokens that were reserved."""
    if outcome.reply is None:
        return Usage(usd=None if outcome.fault in _MAY_HAVE_COST else 0.0)
    total = outcome.reply.usage.total
    return Usage(tokens=reserved.tokens if total is None else total, usd=outcome.usd)
