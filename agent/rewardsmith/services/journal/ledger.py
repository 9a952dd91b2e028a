"""Budgets: reserved before an effect is submitted, settled after it."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from rewardsmith.errors import BudgetExhausted

_USD_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was, or may be, used up.

    Usages add up with `+`; an unknown cost stays visible in `usd_unknown_calls`.

    Attributes:
        usd: the known cost; None where no cost is known.
        tokens: of prompts and answers.
        env_steps: environment steps summed over all environments.
        trainings: number of trainings.
        usd_unknown_calls: how many model calls have an unknown cost; one where `usd` is None.
    """

    usd: float | None = 0.0
    tokens: int = 0
    env_steps: int = 0
    trainings: int = 0
    usd_unknown_calls: int = 0

    def __post_init__(self) -> None:
        if self.usd is None and self.usd_unknown_calls == 0:
            object.__setattr__(self, "usd_unknown_calls", 1)

    def __add__(self, other: "Usage") -> "Usage":
        known = [usd for usd in (self.usd, other.usd) if usd is not None]
        return Usage(
            usd=sum(known) if known else None,
            tokens=self.tokens + other.tokens,
            env_steps=self.env_steps + other.env_steps,
            trainings=self.trainings + other.trainings,
            usd_unknown_calls=self.usd_unknown_calls + other.usd_unknown_calls,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a run may use; None where there is no limit."""

    max_usd: float | None = None
    max_tokens: int | None = None
    max_env_steps: int | None = None
    max_trainings: int | None = None
    max_wall_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What can still be reserved; None where there is no limit, 0 where it is met or passed."""

    usd: float | None
    tokens: int | None
    env_steps: int | None
    trainings: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Budget:
    limit_name: str
    limit: float
    used: float
    reserved: float
    asked: float
    asked_is_unknown: bool

    @property
    def is_exceeded(self) -> bool:
        taken = self.used + self.reserved
        if self.asked_is_unknown and taken >= self.limit:
            return True
        # Costs are sums of rounded numbers: three times 0.1 must fit into 0.3.
        tolerance = _USD_TOLERANCE if self.limit_name == "max_usd" else 0.0
        return self.asked > 0 and taken + self.asked > self.limit + tolerance

    def __str__(self) -> str:
        asked = "an unknown amount" if self.asked_is_unknown and not self.asked else _amount(self.asked)
        return (
            f"{self.limit_name} is {_amount(self.limit)}: {_amount(self.used)} used, "
            f"{_amount(self.reserved)} reserved, {asked} asked for"
        )


class Ledger:
    """Keeps what is used and reserved within the limits; threads may share it.

    Where every effect uses at most what was reserved for it, no limit is ever passed. An unknown cost counts
    as none against `max_usd` until that is met, and is shown in `used.usd_unknown_calls`.

    Args:
        limits: what a run may use.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._used = Usage()
        self._reserved: dict[str, Usage] = {}
        self._lock = threading.Lock()

    @property
    def used(self) -> Usage:
        """What has been settled so far."""
        return self._used

    def reserve(self, key: str, estimate: Usage) -> None:
        """Set `estimate` aside for the effect `key`, until `settle` or `release`.

        Raises:
            BudgetExhausted: a limit leaves no room for the estimate; nothing is reserved.
            ValueError: something is reserved for `key` already.
        """
        with self._lock:
            if key in self._reserved:
                raise ValueError(f"{key}: reserved twice")
            for budget in self._budgets(estimate):
                if budget.is_exceeded:
                    raise BudgetExhausted(f"{budget} by {key}")
            self._reserved[key] = estimate

    def settle(self, key: str, actual: Usage) -> None:
        """Replace the reservation of `key` by what was really used, which may be more.

        Raises:
            ValueError: nothing is reserved for `key`.
        """
        with self._lock:
            if self._reserved.pop(key, None) is None:
                raise ValueError(f"{key}: settled without a reservation")
            self._used = self._used + actual

    def release(self, key: str) -> None:
        """Give the reservation of `key` back unused; does nothing where there is none."""
        with self._lock:
            self._reserved.pop(key, None)

    def remaining(self) -> Remaining:
        """Return what can still be reserved."""
        with self._lock:
            left = {
                budget.limit_name: max(0, budget.limit - budget.used - budget.reserved)
                for budget in self._budgets(Usage())
            }
        return Remaining(
            usd=left.get("max_usd"),
            tokens=_whole(left.get("max_tokens")),
            env_steps=_whole(left.get("max_env_steps")),
            trainings=_whole(left.get("max_trainings")),
        )

    def wall_verdict(self, elapsed_s: float) -> str | None:
        """Return why the run must end after `elapsed_s`, or None where it may go on."""
        limit_s = self.limits.max_wall_s
        if limit_s is None or elapsed_s < limit_s:
            return None
        return f"max_wall_s is {_amount(limit_s)}: {elapsed_s:.1f} s have passed"

    def _budgets(self, estimate: Usage) -> Iterator[_Budget]:
        reserved = sum(self._reserved.values(), start=Usage())
        for name in ("usd", "tokens", "env_steps", "trainings"):
            limit: float | None = getattr(self.limits, f"max_{name}")
            if limit is not None:
                yield _Budget(
                    limit_name=f"max_{name}",
                    limit=limit,
                    used=getattr(self._used, name) or 0,
                    reserved=getattr(reserved, name) or 0,
                    asked=getattr(estimate, name) or 0,
                    asked_is_unknown=name == "usd" and estimate.usd_unknown_calls > 0,
                )


def _amount(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}".rstrip("0").rstrip(".")


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
