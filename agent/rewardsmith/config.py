"""The configuration of a run: a method's keys, budgets, and everything that a result depends on."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SandboxName = Literal["auto", "local", "docker", "subprocess"]

WEAK_SANDBOX_NOTICE = (
    "Reduced isolation: reward code could read files and use the network (sandbox subprocess)"
)

METHODS_DIR = Path(__file__).resolve().parent / "methods"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoreConfig(_Part):
    """The trajectories that proposals are ranked on."""

    episodes: int = Field(default=60, gt=0)
    """Random episodes at the start of a run."""
    expert_episodes: int = Field(default=0, ge=0)
    """Episodes of mixed quality by the task's own expert, beside the random ones; every result says so."""
    ranked_on: int = Field(default=200, gt=1)
    """Most trajectories that proposals are ranked on; of a larger store an even choice from worst to best."""


class ProposeConfig(_Part):
    """What a coder is asked for in each iteration."""

    candidates: int | None = Field(default=None, gt=0)
    """Proposals an iteration; None asks for as many as the coder is good for."""
    carry: int = Field(default=64, ge=0)
    """Best-ranked candidates without a training that stay in the race and are ranked again."""
    temperature: float | None = Field(default=1.0, ge=0, le=2)
    """Of a language model's sampling; None leaves it to the model."""
    output: Literal["code", "template"] = "code"
    """What a language model writes: Python, or a choice of terms and weights by JSON schema."""
    few_shot: bool = True
    """Whether a language model is shown one example, from a task of another kind."""
    parent: Literal["best", "last", "none"] = "best"
    """Whose code is to be improved: the best of the run, that of the last iteration, or no one's: then every
    proposal is written afresh. (`builtin` breeds from several, whichever of the first two is set.)"""
    crossover: float | None = Field(default=None, ge=0, le=1)
    """Share of the proposals that join two earlier ones; None leaves it to the coder."""
    islands: int = Field(default=1, gt=0)
    """Populations that breed apart: a proposal has parents of its own island only (as in REvolve)."""
    history_turns: int = Field(default=4, ge=0)
    """Earlier iterations that a language model is shown: the best code of each, with what became of it."""
    failures: int = Field(default=8, ge=0)
    """Most kinds of earlier failures that a language model is told to avoid."""


class GateConfig(_Part):
    """Who is allowed to train, by trajectory preference."""

    rule: Literal["pairwise", "success", "card_paper", "card_code", "none"] = "pairwise"
    """Our rule, ours on success alone, one of CARD's (see `stages/gates.py`), or none: then nothing is
    ranked, and candidates train in the order in which they were proposed."""
    threshold: float = Field(default=0.6, ge=0, le=1)
    """Of our rules: a candidate that orders a smaller share of pairs rightly is not trained."""
    min_gap: float = Field(default=0.01, ge=0)
    """Pairs of equal fitness whose progress differs by less are not compared."""
    min_pairs: int = Field(default=10, gt=0)
    """Of our rules: with fewer pairs to compare nothing is determined."""
    when_undetermined: Literal["train", "skip"] = "train"
    """What to do where too few trajectories differ to tell rewards apart."""


class TrainConfig(_Part):
    """The short trainings of an iteration."""

    keep: int | None = Field(default=4, gt=0)
    """Most candidates that are trained; None trains all that the gate lets through."""
    max_correlation: float = Field(default=0.9, gt=0, le=1)
    """Of two candidates whose rewards correlate more on stored transitions, only the better is trained."""
    budget: float = Field(default=0.34, gt=0, le=1)
    """Share of the task's `total_timesteps` that a training in the search may use."""
    rungs: tuple[float, ...] = (0.5, 1.0)
    """Shares of that budget after which the weaker trainings are stopped (successive halving)."""
    survivors: float = Field(default=0.5, gt=0, le=1)
    """Share of the trainings that go on after a rung."""
    checkpoints_per_rung: int = Field(default=2, gt=0)
    """How often a policy is judged on its way to each rung."""
    shaping: Literal["none", "potential"] = "none"
    """With `potential`, candidates define a `potential(state)`, and the learner is paid the task's sparse
    success and the potential-based shaping term, which leaves the best policies as they are."""

    @model_validator(mode="after")
    def _rungs_rise_to_one(self) -> "TrainConfig":
        if not self.rungs or list(self.rungs) != sorted(set(self.rungs)) or self.rungs[0] <= 0:
            raise ValueError("rungs must rise, from above 0")
        if self.rungs[-1] != 1.0:
            raise ValueError("the last rung must be 1.0")
        return self


class SelectConfig(_Part):
    """How the best candidate is found."""

    checkpoint: Literal["best", "last", "own_return"] = "best"
    """Which judged policy stands for a training: the fittest, the last, or that of the highest own return."""
    finalists: int = Field(default=1, ge=0)
    """Candidates an iteration that are trained again, at full budget, if they beat the best; 0 for none."""
    confirm_seeds: int = Field(default=2, gt=0)
    """Fresh seeds with which a finalist is trained; its mean over them is its score from then on."""


class StopConfig(_Part):
    """When a search ends."""

    iterations: int = Field(default=3, ge=0)
    """Most iterations; with 0 nothing is searched, and the task's baselines are trained."""
    at_target: bool = True
    """End as soon as the task's `target_fitness` is reached."""
    patience: int | None = Field(default=None, gt=0)
    """End after so many iterations without a better candidate."""


class FinalConfig(_Part):
    """The comparison at the end."""

    seeds: int = Field(default=5, ge=0)
    """Fresh seeds with which winner and baselines are trained at full budget; 0 leaves the comparison out."""
    baselines: bool = True
    """Whether the task's baselines are trained beside the winner."""


class RepairConfig(_Part):
    """What becomes of proposals that fail before training, where a language model wrote them."""

    attempts: int = Field(default=2, ge=0)
    """How often a coder is asked to mend one, with the reason and the trace."""


class FeedbackConfig(_Part):
    """What a coder that reads feedback is told of earlier candidates."""

    process: bool = True
    """How training went: checkpoints, and statistics of every component."""
    trajectory: bool = True
    """The rollouts of highest and lowest return, with states and components along the way."""
    preference: bool = True
    """How well it orders stored trajectories, and the pair that it gets most wrong."""
    critique: bool = True
    """Whether an evaluator model reads all that and says what to change."""
    visual: bool = False
    """Whether that model also sees frames of both rollouts."""


class MethodConfig(_Part):
    """A method: a configuration of the one loop."""

    description: str = ""
    store: StoreConfig = StoreConfig()
    propose: ProposeConfig = ProposeConfig()
    repair: RepairConfig = RepairConfig()
    gate: GateConfig = GateConfig()
    train: TrainConfig = TrainConfig()
    feedback: FeedbackConfig = FeedbackConfig()
    select: SelectConfig = SelectConfig()
    stop: StopConfig = StopConfig()
    final: FinalConfig = FinalConfig()


class ModelConfig(_Part):
    """A model, and how calls to it are made."""

    name: str = "builtin"
    """`builtin`, `replay:RUN`, `openai/NAME`, or a LiteLLM name such as `anthropic/NAME`."""
    base_url: str | None = None
    """Where an OpenAI-compatible server of one's own listens."""
    recording: str | None = None
    """Of `replay:RUN` the folder of that run."""
    api_key_env: str | None = None
    """The environment variable that holds the key; None is the provider's usual one."""
    timeout_s: float = Field(default=300.0, gt=0)
    """Wall-clock limit of one attempt."""
    attempts: int = Field(default=6, gt=0)
    """Most attempts at one call, where the failure is one that may pass."""
    backoff_s: float = Field(default=1.0, ge=0)
    """Scale of the random waits between attempts, which double each time."""
    max_wait_s: float = Field(default=120.0, ge=0)
    """Longest wait between attempts; a server that asks for a longer one is given up for now."""
    max_tokens: int = Field(default=8192, gt=0)
    """Most tokens of one answer, its reasoning included."""
    parameters: dict[str, Any] = {}
    """Further fields of every call as they are, such as `reasoning_effort`."""


class BudgetConfig(_Part):
    """The most that a run may use; None is no limit."""

    max_usd: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_env_steps: int | None = Field(default=None, ge=0)
    max_trainings: int | None = Field(default=None, ge=0)
    max_wall_s: float | None = Field(default=None, ge=0)


class RunConfig(_Part):
    """Everything that a run's result depends on, as it stands in run.yaml."""

    task: str
    task_folder: str
    task_file: dict[str, Any]
    task_digest: str
    model: ModelConfig = ModelConfig()
    """Who writes rewards."""
    evaluator: ModelConfig | None = None
    """Who criticises them; None where no one does."""
    reward: str | None = None
    """Code of a reward that is given instead of searched for, or None."""
    reward_origin: str = ""
    """Where that code comes from, for people."""
    method_name: str = "rewardsmith"
    method: MethodConfig = MethodConfig()
    seed: int = Field(default=0, ge=0)
    workers: int = Field(default=2, gt=0)
    sandbox: SandboxName = "auto"
    allow_weak_sandbox: bool = False
    """Whether a backend that only limits reward code may be used."""
    budget: BudgetConfig = BudgetConfig()
    versions: dict[str, str | None] = {}
