"""`rewardsmith task new`: a task drafted from an environment."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardsmith.cli.console import note, say, say_json
from rewardsmith.cli.options import ApiKeyEnvOption, BaseUrlOption, JsonOption
from rewardsmith.cli.task_check import EXIT_FINDINGS, checked, say_findings
from rewardsmith.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rewardsmith.services.tasks.drafting.draft import Draft

DEFAULT_SUITE = "own"
EPILOG = (
    "Examples:\n\n"
    "  rewardsmith task new cheetah --env HalfCheetah-v5 --goal 'Run forward as fast as you can.'\n\n"
    "  rewardsmith task new reach --env FetchReach-v4 --goal 'Move the gripper to the target.'\n\n"
    "  rewardsmith task new arm --env my_robot.py:ArmEnv --env-kwarg seed=3 --goal 'Lift the arm.'\n\n"
    "  rewardsmith task new door --env metaworld:door-open-v3 --goal 'Open it.' --model openai/gpt-5-mini"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the task, or SUITE/NAME.")],
    env: Annotated[
        str,
        typer.Option(
            metavar="ENV",
            help="A registered id, MODULE:ID, MODULE:CLASS, FILE.py:CLASS (or a function), metaworld:NAME.",
        ),
    ],
    goal: Annotated[str, typer.Option(metavar="TEXT", help="What the agent should do, in a sentence.")],
    suite: Annotated[
        str | None,
        typer.Option(metavar="SUITE", help="Folder below ./tasks that the task goes into; own if left out."),
    ] = None,
    env_kwarg: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="What the environment is made with; may be given often."),
    ] = None,
    import_: Annotated[
        list[str] | None,
        typer.Option(
            "--import", metavar="MODULE", help="A module that registers the id; may be given often."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A language model that words names, units and sentences better."),
    ] = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = None,
    timeout_s: Annotated[
        float, typer.Option(min=1, metavar="S", help="Seconds that looking and checking may take, each.")
    ] = 300.0,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Overwrite the task's file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Draft ./tasks/SUITE/NAME/task.yaml from an environment, then check it.

    Looks at the environment's spaces, documentation, simulator and a short
    random play; writes every key, and as comments what was guessed and what
    is to be decided. Exit code 2 where the check finds something wrong.
    """
    from rewardsmith.services.journal.folder import write_text_atomic
    from rewardsmith.services.tasks.catalog import TASK_FILE, load_task
    from rewardsmith.services.tasks.drafting.writing import task_yaml

    full_name = _full_name(name, suite)
    folder = Path("tasks") / full_name
    file = folder / TASK_FILE
    if file.exists() and not force:
        raise ConfigError(f"{file} exists; --force overwrites it")
    if len(goal.strip()) < 3:
        raise ConfigError("--goal: say in a sentence what the agent should do")
    worded = None if model is None else _opened(model, base_url, api_key_env)
    draft = _draft(env, goal.strip(), full_name, folder, env_kwarg or (), import_ or (), timeout_s)
    if worded is not None:
        draft = worded(draft)
    folder.mkdir(parents=True, exist_ok=True)
    write_text_atomic(file, task_yaml(draft, full_name))
    note(f"written: {file}")
    task = load_task(str(folder))
    result = checked(task, timeout_s)
    if as_json:
        say_json({"file": str(file), **result})
    else:
        for line in _summary(draft):
            say(line)
        say_findings(result)
    if not result["passed"]:
        raise typer.Exit(EXIT_FINDINGS)
    note(f"next: read {file}, then `rewardsmith run {full_name}`")


def _full_name(name: str, suite: str | None) -> str:
    if "/" in name and suite is not None:
        raise ConfigError(f"--suite {suite}: {name} names its suite already")
    if suite is not None and not _NAME.fullmatch(suite):
        raise ConfigError(f"--suite {suite}: use letters, digits, - and _")
    parts = name.split("/") if "/" in name else [suite or DEFAULT_SUITE, name]
    if len(parts) != 2 or not all(_NAME.fullmatch(part) for part in parts):
        raise ConfigError(f"{name!r} is no name of a task; use letters, digits, - and _, as in suite/name")
    return "/".join(parts)


def _draft(
    env: str,
    goal: str,
    name: str,
    folder: Path,
    kwargs: "Sequence[str]",
    imports: "Sequence[str]",
    timeout_s: float,
) -> "Draft":
    from rewardsmith.services.tasks.drafting.draft import draft_task
    from rewardsmith.services.tasks.drafting.environments import env_config, extras_of
    from rewardsmith.services.tasks.drafting.looking import look_at

    config = env_config(env, kwargs=_kwargs(kwargs), imports=imports, folder=folder)
    note(f"looking at {env} ...")
    facts = look_at(config, folder=folder.resolve(), name=name, timeout_s=timeout_s)
    config = config.model_copy(update={"imports": tuple(facts["imports"])})
    return draft_task(
        facts,
        env=config.model_dump(mode="json", exclude_defaults=True),
        goal=goal,
        requires=extras_of(facts["class"]),
    )


def _kwargs(texts: "Sequence[str]") -> dict[str, Any]:
    import yaml

    from rewardsmith.services.yaml_file import parse_yaml

    found: dict[str, Any] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.isidentifier():
            raise ConfigError(f"--env-kwarg {text}: expected KEY=VALUE")
        try:
            found[key] = parse_yaml(value)
        except yaml.YAMLError:
            raise ConfigError(f"--env-kwarg {text}: the value is not YAML") from None
    return found


def _opened(model: str, base_url: str | None, api_key_env: str | None) -> "Callable[[Draft], Draft]":
    """Return what words a draft better; a key that is missing is told before the environment is looked at."""
    from rewardsmith.config import ModelConfig
    from rewardsmith.services.chat.calls import ModelAnswer, ModelCall
    from rewardsmith.services.chat.names import check_access, is_language_model, open_answerer
    from rewardsmith.services.tasks.drafting.by_model import reworded

    config = ModelConfig(name=model, base_url=base_url, api_key_env=api_key_env)
    if not is_language_model(model):
        raise ConfigError(f"--model {model}: name a language model, or leave it out")
    check_access(config)

    def word(draft: "Draft") -> "Draft":
        answerer = open_answerer(config)

        def ask(calls: "Sequence[ModelCall]") -> list[ModelAnswer]:
            outcomes = [answerer.ask(call.key, call.request) for call in calls]
            return [ModelAnswer(reply=outcome.reply, message=outcome.message) for outcome in outcomes]

        note(f"asking {model} for names ...")
        try:
            return reworded(draft, ask, max_tokens=config.max_tokens)
        finally:
            answerer.close()

    return word


def _summary(draft: "Draft") -> list[str]:
    """Return what a person wants to know at once."""
    fitness = (
        f"info.{draft.success_key}, told by the environment"
        if draft.success_key is not None
        else "the environment's own reward: no success was found; the file says how to measure something else"
    )
    unknown = [field.name for field in draft.fields if not field.doc]
    lines = [
        f"environment  {draft.made_from}",
        f"state        {len(draft.fields)} fields, {sum(field.size for field in draft.fields)} numbers",
        f"fitness      {fitness}",
        f"training     PPO, {draft.total_timesteps:,} steps",
    ]
    if unknown:
        lines.append(f"not known    what these are: {', '.join(unknown)}")
    return lines
