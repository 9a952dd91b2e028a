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

DEFAULT_ROOT = Path("runs")
