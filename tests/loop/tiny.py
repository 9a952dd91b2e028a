"""A whole run that takes seconds: the pendulum, a dozen proposals, trainings of a few hundred steps."""

from pathlib import Path

from rewardsmith.config import BudgetConfig, ModelConfig, RunConfig
from rewardsmith.loop.reporter import SilentReporter
from rewardsmith.loop.setup import resolve

SETTINGS = (
    "store.episodes=6",
    "propose.candidates=12",
    "propose.carry=4",
    "train.keep=3",
    "train.max_correlation=1.0",
    "gate.threshold=0.0",
    "train.budget=0.34",
    "train.checkpoints_per_rung=1",
    "stop.iterations=2",
    "stop.at_target=false",
    "train.rungs=[0.5,1.0]",
    "select.finalists=2",
    "select.confirm_seeds=1",
    "final.seeds=2",
    "task.fitness=return",
    "task.training.total_timesteps=512",
    "task.training.n_envs=2",
    "task.training.net_arch=[16]",
    "task.training.hyperparameters.n_steps=32",
    "task.training.hyperparameters.batch_size=32",
    "task.training.hyperparameters.n_epochs=1",
    "task.judge.episodes=2",
    "task.judge.final_episodes=2",
    "task.env.max_episode_steps=40",
)


def tiny_config(
    *settings: str,
    seed: int = 0,
    budget: BudgetConfig | None = None,
    model: ModelConfig | str = "builtin",
    evaluator: ModelConfig | None = None,
    root: Path = Path("runs"),
) -> RunConfig:
    """Return the configuration of a tiny run."""
    return resolve(
        task="classic/pendulum",
        method="rewardsmith",
        settings=[*SETTINGS, *settings],
        model=model,
        evaluator=evaluator,
        root=root,
        seed=seed,
        workers=2,
        sandbox="local",
        budget=budget or BudgetConfig(),
    )


class ListReporter(SilentReporter):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)
