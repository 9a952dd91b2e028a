"""What every sandbox backend promises."""

from dataclasses import dataclass
from typing import Any, Protocol

from rewardsmith.contract.layout import ActionSpec, StateLayout
from rewardsmith.types import FloatArray, RewardAnswer, Transitions
from rewardsmith.worker.reward.frame import MAX_COMPONENTS as MAX_COMPONENTS
from rewardsmith.worker.reward.frame import MAX_MAGNITUDE as MAX_MAGNITUDE
from rewardsmith.worker.reward.frame import MAX_SOURCE_BYTES as MAX_SOURCE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSpec:
    """The shape of the questions that one reward process will be asked.

    Attributes:
        layout: the task's state layout.
        action: the task's action.
        max_rows: most transitions in one call over the wire; longer batches are cut and joined again.
    """

    layout: StateLayout
    action: ActionSpec
    max_rows: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Hard limits of one reward process.

    Attributes:
        start_timeout_s: wall-clock from the request to the first "ready": lock, compile, run the module.
        call_timeout_s: wall-clock for one call.
        cpu_s: CPU seconds over the whole life of the process.
        memory_bytes: address space beyond what Python and NumPy themselves take.
        output_bytes: most that it may print in its life.
    """

    start_timeout_s: float = 10.0
    call_timeout_s: float = 5.0
    cpu_s: int = 60
    memory_bytes: int = 512 * 1024 * 1024
    output_bytes: int = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One denial that the self-test tried, with its positive control.

    Attributes:
        name: what was tried, such as `open a TCP socket`.
        denied: whether the locked process was refused.
        control: whether the same code succeeded in an unlocked process; a probe without this proves nothing.
        detail: what was seen.
    """

    name: str
    denied: bool
    control: bool
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the denial is real."""
        return self.denied and self.control


MEMORY_PROBE = "use more memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """What a backend proved on itself."""

    backend: str
    probes: tuple[Probe, ...]
    features: dict[str, str]
    """What strengthens this backend here, such as `{"landlock": "ABI 7"}`; for reports only."""
    is_weak: bool = False
    """Whether this backend does not promise the denials at all."""

    @property
    def passed(self) -> bool:
        """Whether every probe passed; of a weak backend, whether the memory limit holds that it promises."""
        if self.is_weak:
            return any(probe.passed for probe in self.probes if probe.name == MEMORY_PROBE)
        return bool(self.probes) and all(probe.passed for probe in self.probes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardEndpoint:
    """A running reward process as it is handed to a trainer: file descriptors and what to know of them.

    Attributes:
        fds: descriptors to pass along, in the order that `RewardClient.from_wire` expects.
        wire: JSON-ready description (layout, action, row capacity, limits); holds no reward source.
    """

    fds: tuple[int, ...]
    wire: dict[str, Any]


class RewardProcess(Protocol):
    """One candidate in its box."""

    def call(self, batch: Transitions) -> RewardAnswer:
        """Return the reward of a batch.

        Raises:
            CandidateError: the code raised, answered wrongly, or had to be killed.
            SandboxUnavailableError: the box itself failed.
        """
        ...

    @property
    def has_potential(self) -> bool:
        """Whether the candidate also defines `potential(state)`."""
        ...

    def potential(self, state: FloatArray) -> FloatArray:
        """Return phi of each state `(n, state_dim)` as `(n,)`; raises as `call` does."""
        ...

    def endpoint(self) -> RewardEndpoint:
        """Return what a trainer needs to call this process itself; this object then only watches it."""
        ...

    def death(self, timeout_s: float = 0.0) -> Exception | None:
        """Return the typed reason why the process has ended, or None if it still runs after `timeout_s`."""
        ...

    def close(self) -> None:
        """Kill the process and release everything; safe to call twice."""
        ...


class Sandbox(Protocol):
    """A backend: starts reward processes and proves that its lock holds."""

    name: str
    is_weak: bool
    """Whether it only limits code and does not lock it up."""

    def self_test(self) -> SelfTest:
        """Try what must be denied, each with a positive control."""
        ...

    def open(self, source: str, spec: RewardSpec, limits: SandboxLimits) -> RewardProcess:
        """Start a reward process for `source`; raises as `RewardProcess.call` does."""
        ...

    def close(self) -> None:
        """End the backend and every process that it started."""
        ...
