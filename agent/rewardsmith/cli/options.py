"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

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

DEFAULT_ROOT = Path("runs")
