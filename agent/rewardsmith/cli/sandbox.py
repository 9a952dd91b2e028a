"""`rewardsmith sandbox`: what a sandbox needs before it can be used."""

from typing import Annotated

import typer

from rewardsmith.cli.console import note, say, say_json
from rewardsmith.cli.options import JsonOption

app = typer.Typer(help="Prepare the docker sandbox.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Prepare the docker sandbox."""


@app.command("build")
def build(
    base: Annotated[
        str | None,
        typer.Option(metavar="IMAGE", help="Build from this image: it needs python3, and pip or NumPy."),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Network of the build, such as host; the engine's own if left out."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Build the image of the docker sandbox, and prove that the sandbox works with it.

    It holds Python, NumPy and the reward process. It is built once for each version of rewardsmith.
    """
    from rewardsmith.services.sandbox import image
    from rewardsmith.services.sandbox.factory import open_sandbox

    client = image.connect()
    for line in image.build(client, base, network):
        note(line)
    sandbox = open_sandbox("docker")
    try:
        test = sandbox.self_test()
    finally:
        sandbox.close()
    document = {"image": image.IMAGE, "id": image.check_image(client), "probes": len(test.probes)}
    if as_json:
        say_json(document)
    else:
        say(f"Built {image.IMAGE}; all {len(test.probes)} probes of its self-test passed")
