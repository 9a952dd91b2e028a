"""The schema of task.yaml."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rewardsmith.contract.layout import FieldKind, StateField, StateLayout
from rewardsmith.contract.sources import STATE_FILE_SOURCE, check_field_name, source_expression
from rewardsmith.resources import search_dirs

Baseline = Literal["human", "sparse", "zero", "progress"]


FITNESS_FILE = "fitness.py"
"""What the file of a task's measures is usually called."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EnvConfig(_Part):
    """Which environment, and how long an episode is."""

    id: str | None = None
    """A registered Gymnasium id."""
    factory: str | None = None
    """Instead of `id`: `file.py:function` (relative to the task's folder, or to a folder of tasks) or
    `module:function`."""
    kwargs: dict[str, Any] = {}
    imports: tuple[str, ...] = ()
    """Modules that register the id when they are imported."""
    max_episode_steps: int | None = Field(default=None, gt=0)
    """Time limit in simulation steps, before `action_repeat`; None leaves the environment's own."""
    action_repeat: int = Field(default=1, gt=0)
    """Simulation steps for which one policy action is kept."""

    @model_validator(mode="after")
    def _one_of_id_and_factory(self) -> "EnvConfig":
        if (self.id is None) == (self.factory is None):
            raise ValueError("give either 'id' or 'factory'")
        if self.factory is not None and self.factory.count(":") != 1:
            raise ValueError("'factory' has the form file.py:function or module:function")
        return self


class FieldConfig(_Part):
    """One named part of the state."""

    name: str
    source: str
    """Where it is read: `obs[a:b]`, `obs.key`, `info.key`, `mujoco.site.NAME`, ... or `state.py`."""
    shape: tuple[int, ...] = ()
    """Shape of one row; empty for a plain number."""
    kind: FieldKind = "scalar"
    unit: str = ""
    low: float | None = None
    high: float | None = None
    doc: str = ""

    _check_name = field_validator("name")(check_field_name)

    @model_validator(mode="after")
    def _source_is_known(self) -> "FieldConfig":
        source_expression(self.source, self.name)
        if any(size < 1 for size in self.shape):
            raise ValueError("every size in 'shape' must be at least 1")
        return self

    def to_field(self) -> StateField:
        """Return the field of the reward contract."""
        return StateField(**self.model_dump(exclude={"source"}))


class SuccessConfig(_Part):
    """When an episode counts as solved."""

    source: str
    """`info.KEY` (true where it is above one half) or a file with the function `success(state) -> (n,)`."""
    when: Literal["any", "last"] = "any"
    """Whether success at any step counts, or only at the last one."""
    kwargs: dict[str, Any] = {}
    """Further arguments of the function, for a file that several tasks share."""

    @field_validator("source")
    @classmethod
    def _known(cls, source: str) -> str:
        if not _is_code(source) and not source.startswith("info."):
            raise ValueError(f"use info.KEY or a Python file, such as {FITNESS_FILE}")
        return source


class ProgressConfig(_Part):
    """The graded measure that tells a near miss from doing nothing."""

    source: str
    """A file with the function `progress(state) -> (n,)` in [0, 1]."""
    over: Literal["mean", "best", "last"] = "mean"
    """How the values of an episode's states become one number."""
    kwargs: dict[str, Any] = {}
    """Further arguments of the function, for a file that several tasks share."""

    @field_validator("source")
    @classmethod
    def _known(cls, source: str) -> str:
        if not _is_code(source):
            raise ValueError(f"use a Python file, such as {FITNESS_FILE}")
        return source


class TrainingConfig(_Part):
    """How Stable-Baselines3 trains a policy on this task."""

    algorithm: Literal["PPO", "A2C", "SAC", "TD3", "DDPG", "DQN"] = "PPO"
    total_timesteps: int = Field(default=50_000, gt=0)
    """Policy steps summed over all `n_envs`, as in Stable-Baselines3."""
    n_envs: int = Field(default=8, gt=0)
    net_arch: tuple[int, ...] = (64, 64)
    normalize_observation: bool = True
    normalize_reward: bool = True
    hyperparameters: dict[str, Any] = {}
    """Passed to the algorithm's constructor as they are."""
    action_noise_std: float | None = Field(default=None, gt=0)
    """Standard deviation of normal noise on actions, for TD3 and DDPG, which explore by nothing else."""
    timeout_s: float = Field(default=900.0, gt=0)
    """Wall-clock limit for one training."""

    @property
    def gamma(self) -> float:
        """The learner's discount; Stable-Baselines3's default where the task does not set it."""
        return float(self.hyperparameters.get("gamma", 0.99))

    @model_validator(mode="after")
    def _noise_where_it_is_needed(self) -> "TrainingConfig":
        needs = self.algorithm in ("TD3", "DDPG")
        if needs != (self.action_noise_std is not None):
            raise ValueError(
                f"action_noise_std is {'needed' if needs else 'of no use'} with {self.algorithm}"
            )
        return self


class JudgeConfig(_Part):
    """How many held-out episodes measure a policy."""

    episodes: int = Field(default=10, gt=0)
    """For a checkpoint during the search."""
    final_episodes: int = Field(default=30, gt=0)
    """For each final policy."""


def _is_code(source: str) -> bool:
    """Whether a source is a Python file, relative to the task's folder or to a folder of tasks."""
    return source.endswith(".py")


def find_code_file(folder: Path, name: str) -> Path:
    """Return a Python file of a task: relative to its folder, or else to a folder of tasks.

    So a task of one's own may use the adapter of a suite that is shipped, as `metaworld/env.py`.
    """
    own = (folder / name).resolve()
    shared = (root / name for root in search_dirs("tasks"))
    return next((path.resolve() for path in (own, *shared) if path.is_file()), own)


class TaskFile(_Part):
    """The whole of task.yaml."""

    schema_version: Literal[1]
    goal: str = Field(min_length=3)
    """What the agent should do, in a sentence; this is what a coder is told."""
    requires: tuple[str, ...] = ()
    """Optional extras of rewardsmith that the environment needs."""
    env: EnvConfig
    state: tuple[FieldConfig, ...] = Field(min_length=1)
    success: SuccessConfig | None = None
    fitness: str = "success"
    """`success` (1 or 0), `return` (the environment's own), or a file with a function `fitness(episode)`."""
    fitness_kwargs: dict[str, Any] = {}
    """Further arguments of that function, for a file that several tasks share."""
    fitness_doc: str = ""
    """What the fitness means and its unit, for reports; a coder never sees it."""
    target_fitness: float | None = None
    """Fitness at which a search may end; None where no one knows what is possible."""
    progress: ProgressConfig | None = None
    training: TrainingConfig = TrainingConfig()
    judge: JudgeConfig = JudgeConfig()
    baselines: tuple[Baseline, ...] = ("human", "sparse", "zero", "progress")
    expert: str | None = None
    """`file.py:function` (relative to the task's folder): `function(env)` returns `act(observation)`, a
    policy that solves the task. It acts only where a method asks for expert episodes."""

    @field_validator("expert")
    @classmethod
    def _expert_is_a_function(cls, expert: str | None) -> str | None:
        if expert is not None and not re.fullmatch(r"[^:]+\.py:\w+", expert):
            raise ValueError("'expert' has the form file.py:function")
        return expert

    @field_validator("fitness")
    @classmethod
    def _known_fitness(cls, fitness: str) -> str:
        if fitness not in ("success", "return") and not _is_code(fitness):
            raise ValueError(f"use success, return or a Python file, such as {FITNESS_FILE}")
        return fitness

    @model_validator(mode="after")
    def _consistent(self) -> "TaskFile":
        names = [field.name for field in self.state]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"the state field {twice!r} stands twice")
        if self.success is None and (self.fitness == "success" or "sparse" in self.baselines):
            raise ValueError("fitness 'success' and the baseline 'sparse' need the key 'success'")
        if self.progress is None and "progress" in self.baselines:
            raise ValueError("the baseline 'progress' needs the key 'progress'")
        return self


class Task(_Part):
    """A task as it was found: its name, its folder and its file."""

    name: str
    """`suite/name`, from the two folders above task.yaml."""
    folder: Path
    file: TaskFile

    @property
    def layout(self) -> StateLayout:
        """The state layout of the reward contract."""
        return StateLayout(tuple(field.to_field() for field in self.file.state))

    @property
    def uses_state_file(self) -> bool:
        """Whether some field is computed by the task's state.py."""
        return any(field.source == STATE_FILE_SOURCE for field in self.file.state)

    @property
    def code_files(self) -> tuple[Path, ...]:
        """The Python files of the task, whose content is part of its identity."""
        file = self.file
        measures = (
            file.fitness,
            file.success and file.success.source,
            file.progress and file.progress.source,
        )
        in_use = list(dict.fromkeys(source for source in measures if source and _is_code(source)))
        if self.uses_state_file:
            in_use.append(STATE_FILE_SOURCE)
        for function in (file.env.factory, file.expert):
            if function is not None and function.split(":")[0].endswith(".py"):
                in_use.append(function.split(":")[0])
        return tuple(find_code_file(self.folder, name) for name in in_use)
