"""`rewardsmith run` and `rewardsmith resume`."""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardsmith.cli.console import note
from rewardsmith.cli.options import (
    DEFAULT_ROOT,
    JsonOption,
    RootOption,
    RunArgument,
    SandboxChoice,
    TaskArgument,
)
from rewardsmith.cli.outcome import show_outcome
from rewardsmith.errors import ConfigError, NoWinnerError, SandboxUnavailableError

if TYPE_CHECKING:
    from rewardsmith.config import ModelConfig
    from rewardsmith.services.journal.folder import RunFolder

PANEL = "Search for rewards"
EXIT_INTERRUPTED = 130
MAX_DEFAULT_WORKERS = 8

_MODELS = "Models"
_BUDGET = "Budget"
_OUTPUT = "Output"


def register(app: typer.Typer) -> None:
    """Add the commands to the root group."""
    app.command(
        "run",
        rich_help_panel=PANEL,
        epilog="Examples:\n\n"
        "  rewardsmith run classic/pendulum\n\n"
        "  rewardsmith run classic/pendulum --iterations 2 --candidates 64 --seed 1 --out runs/first\n\n"
        "  rewardsmith run classic/pendulum --model openai/gpt-5-mini --max-usd 1\n\n"
        "  rewardsmith run classic/pendulum --model openai/qwen3 --base-url http://localhost:11434/v1\n\n"
        "  rewardsmith run classic/pendulum -s train.keep=2 -s task.training.total_timesteps=20000",
    )(run)
    app.command("resume", rich_help_panel=PANEL)(resume)


def read_reward(file: Path) -> tuple[str, str]:
    """Return the code of a reward that a person wrote, and the name of its file."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: not a UTF-8 text file") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None
    if "class RewardWrapper(" in text:
        raise ConfigError(
            f"{file}: an exported file, which holds more than a reward; give compute_reward alone"
        )
    return text, file.name


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    task: TaskArgument,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Who writes the rewards: builtin (no key, no network), openai/NAME, PROVIDER/NAME as "
            "LiteLLM calls it, or replay:RUN.",
            rich_help_panel=_MODELS,
        ),
    ] = "builtin",
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="An OpenAI-compatible server of your own: vLLM, Ollama, llama.cpp.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE",
            help="The environment variable that holds the key, if not the provider's usual one.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    evaluator_model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Who criticises the rewards; the coder's model if left out.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    evaluator_base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The evaluator's own server.", rich_help_panel=_MODELS),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="How to search: a shipped method or a YAML file.")
    ] = "rewardsmith",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            metavar="KEY=VALUE",
            help="Change a key of the method, or of the task after `task.`, of the model after `model.`, "
            "of the evaluator after `evaluator.`; may be given often.",
        ),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Short for -s stop.iterations=N.", metavar="N")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(min=1, help="Short for -s propose.candidates=K.", metavar="K")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Trainings at a time; the usable cores, at most 8, if left out.",
        ),
    ] = None,
    sandbox: Annotated[
        SandboxChoice, typer.Option(help="Where reward code runs; auto takes the strongest that works.")
    ] = SandboxChoice.auto,
    allow_weak_sandbox: Annotated[
        bool,
        typer.Option(
            "--allow-weak-sandbox",
            metavar="",
            help="Allow the sandbox subprocess, which limits reward code and does not lock it up.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of everything that is random.")] = 0,
    evaluator_api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE",
            help="The variable that holds the evaluator's key, if not its provider's usual one.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option(min=0, metavar="X", help="Most US dollars for model calls.", rich_help_panel=_BUDGET),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Most tokens.", rich_help_panel=_BUDGET)
    ] = None,
    max_env_steps: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Most environment steps.", rich_help_panel=_BUDGET)
    ] = None,
    max_trainings: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Most trainings.", rich_help_panel=_BUDGET)
    ] = None,
    max_wall_s: Annotated[
        float | None, typer.Option(min=0, metavar="S", help="Most seconds in all.", rich_help_panel=_BUDGET)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The run's own folder, instead of a new one in ./runs.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the new folder in ./runs.", rich_help_panel=_OUTPUT),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            metavar="",
            help="Show the plan and the first prompt; call no model, train nothing, leave nothing behind.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Search for a reward for TASK, and compare the best with the task's baselines."""
    from rewardsmith.config import BudgetConfig, ModelConfig
    from rewardsmith.loop.records import has_begun
    from rewardsmith.loop.setup import resolve
    from rewardsmith.services.journal.folder import RunFolder

    root, folder_name = where(out, name)
    short = [("stop.iterations", iterations), ("propose.candidates", candidates)]
    config = resolve(
        task=task,
        method=method,
        settings=[*(settings or ()), *(f"{key}={value}" for key, value in short if value is not None)],
        model=ModelConfig(name=model, base_url=base_url, api_key_env=api_key_env),
        evaluator=_evaluator(evaluator_model, evaluator_base_url, evaluator_api_key_env),
        seed=seed,
        workers=workers or min(MAX_DEFAULT_WORKERS, usable_cores()),
        sandbox=sandbox.value,
        allow_weak_sandbox=allow_weak_sandbox,
        budget=BudgetConfig(
            max_usd=_finite(max_usd),
            max_tokens=max_tokens,
            max_env_steps=max_env_steps,
            max_trainings=max_trainings,
            max_wall_s=_finite(max_wall_s),
        ),
        root=DEFAULT_ROOT,
        dry=dry_run,
    )
    if dry_run:
        from rewardsmith.cli.dry_run import show_plan

        show_plan(config, as_json)
        return
    folder = RunFolder.create(root, folder_name, config.model_dump(mode="json"))
    try:
        execute_and_show(folder, as_json)
    except SandboxUnavailableError:
        # Nothing has begun: a folder of this name would only be in the way of the next try.
        if not has_begun(folder):
            shutil.rmtree(folder.path)
        raise


def resume(run: RunArgument, root: RootOption = DEFAULT_ROOT, as_json: JsonOption = False) -> None:
    """Go on with a run that was interrupted; of a finished run, show the result again."""
    from rewardsmith.loop.records import read_run
    from rewardsmith.services.journal.folder import find_run

    record = read_run(find_run(root, run))
    if record.status == "finished" and record.result is not None:
        note(f"Run {record.folder.name} is finished; this is its result")
        _finish(record.folder.path, record.result, as_json)
    else:
        execute_and_show(record.folder, as_json)


def where(out: Path | None, name: str | None) -> tuple[Path, str | None]:
    """Return root and name of a new run folder, from the options of a command."""
    if out is not None and name is not None:
        raise typer.BadParameter("give either --out or --name", param_hint="--name")
    if out is not None:
        return Path(), str(out)
    if name is not None and (not name or Path(name).name != name or name.startswith((".", "-"))):
        raise typer.BadParameter(f"{name!r} is not a name; --out takes a path", param_hint="--name")
    return DEFAULT_ROOT, name


def _evaluator(model: str | None, base_url: str | None, api_key_env: str | None) -> "ModelConfig | None":
    from rewardsmith.config import ModelConfig

    if model is None:
        given = {"--evaluator-base-url": base_url, "--evaluator-api-key-env": api_key_env}
        for option, value in given.items():
            if value is not None:
                raise typer.BadParameter("needs --evaluator-model", param_hint=option)
        return None
    return ModelConfig(name=model, base_url=base_url, api_key_env=api_key_env)


def _finite(limit: float | None) -> float | None:
    """Return a limit; one that is infinite is none."""
    return None if limit == float("inf") else limit


def _finish(folder: Path, result: Mapping[str, Any], as_json: bool) -> None:
    """Show a result; a search that found nothing is not a success."""
    show_outcome(folder, result, as_json)
    if result["winner"] is None and not (result["final"] and result["final"]["arms"]):
        raise typer.Exit(NoWinnerError.exit_code)


def execute_and_show(folder: "RunFolder", as_json: bool) -> None:
    """Run, or go on with, the run in a folder, and show its result; exit code 2 where there is none."""
    from rewardsmith.cli.progress import open_reporter

    try:
        note(f"Run folder: {folder.path}")
        from rewardsmith.loop.run import execute

        with open_reporter() as reporter:
            result = execute(folder, reporter)
    except KeyboardInterrupt:
        note(f"interrupted; `rewardsmith resume {shlex.quote(str(folder.path))}` goes on from here")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    _finish(folder.path, result, as_json)
