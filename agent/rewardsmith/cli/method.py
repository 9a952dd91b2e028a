"""`rewardsmith method`: the methods that are shipped, what they set, and how two of them differ."""

import json
from typing import Annotated, Any

import typer

from rewardsmith.cli.console import Column, say, say_json, say_table
from rewardsmith.cli.options import JsonOption

app = typer.Typer(help="Look at methods: how rewards are searched for.", no_args_is_help=True)

MethodArgument = Annotated[
    str,
    typer.Argument(metavar="METHOD", help="A shipped method by name, or a YAML file.", show_default=False),
]


@app.command("list")
def list_methods(as_json: JsonOption = False) -> None:
    """List the shipped methods."""
    from rewardsmith.loop.setup import load_method, shipped_methods

    rows = [
        {"name": name, "description": load_method(name).description, "file": str(file)}
        for name, file in shipped_methods().items()
    ]
    if as_json:
        say_json(rows)
        return
    columns = (Column(title="method"), Column(title="what it does", fold=True))
    say_table(columns, [[row["name"], row["description"]] for row in rows])


@app.command("show")
def show(method: MethodArgument, as_json: JsonOption = False) -> None:
    """Show every key of METHOD, marking those that differ from what a method has by itself."""
    from rewardsmith.config import MethodConfig
    from rewardsmith.loop.setup import flat, load_method, method_file

    found, file = load_method(method), method_file(method)
    keys, usual = (flat(each.model_dump(mode="json")) for each in (found, MethodConfig()))
    if as_json:
        say_json({"name": file.stem, "file": str(file), "description": found.description, "keys": keys})
        return
    say(f"{file.stem}: {found.description}")
    for line in _head(file.read_text(encoding="utf-8")):
        say(f"  {line}")
    say(f"  {file}")
    say()
    columns = (Column(title="key"), Column(title="value", fold=True), Column(title="where left out"))
    say_table(
        columns,
        [
            [key, _shown(value), _shown(usual[key]) if usual[key] != value else ""]
            for key, value in keys.items()
        ],
    )


@app.command("diff")
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A method.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Show the keys in which two methods differ."""
    from rewardsmith.loop.setup import flat, load_method, method_file

    a, b = (flat(load_method(name).model_dump(mode="json")) for name in (first, second))
    rows = {key: (a[key], b[key]) for key in a if a[key] != b[key]}
    names = (method_file(first).stem, method_file(second).stem)
    if as_json:
        say_json({"a": names[0], "b": names[1], "keys": {key: list(values) for key, values in rows.items()}})
    elif not rows:
        say(f"{names[0]} and {names[1]} set every key alike")
    else:
        columns = (Column(title="key"), Column(title=names[0], fold=True), Column(title=names[1], fold=True))
        say_table(columns, [[key, _shown(x), _shown(y)] for key, (x, y) in rows.items()])


def _head(text: str) -> list[str]:
    """Return the comment that a method's file begins with: its source, and where it deviates from it."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return lines


def _shown(value: Any) -> str:
    return "-" if value is None else json.dumps(value) if isinstance(value, bool | list) else str(value)
