"""Options and arguments that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class SandboxChoice(StrEnum):
    """Backends by name; `auto` is the strongest that works here."""

    auto = "auto"
    local = "local"
    docker = "docker"
    subprocess = "subprocess"


JsonOption = Annotated[
    bool, typer.Option("--json", metavar="", help="Write one JSON document to stdout instead of text.")
]

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Path of a run folder, its name, or a prefix that only it has.")
]

RootOption = Annotated[
    Path, typer.Option("--root", metavar="DIR", help="Folder in which runs are looked for by name.")
]

TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="Name of a task (see `rewardsmith task list`) or its folder.")
]

BaseUrlOption = Annotated[
    str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server of your own.")
]

ApiKeyEnvOption = Annotated[
    str | None,
    typer.Option(
        metavar="VARIABLE",
        help="The environment variable that holds the key, if not the provider's usual one.",
    ),
]

SandboxOption = Annotated[SandboxChoice, typer.Option(help="Where reward code runs.")]

WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Trainings at a time; the usable cores if left out."),
]

DEFAULT_ROOT = Path("runs")
