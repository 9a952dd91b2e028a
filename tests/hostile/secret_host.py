"""`python secret_host.py BACKEND FILE`: run the whole corpus with secrets around, and write what comes out.

The parent test sets a key in the environment and a file in the home folder, and searches FILE for both.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.conftest import SPEC, made_rows
from hostile.corpus import load
from rewardsmith.errors import CandidateError
from rewardsmith.services.launching import LaunchHere
from rewardsmith.services.sandbox.base import SandboxLimits
from rewardsmith.services.sandbox.factory import BACKENDS
from rewardsmith.services.sandbox.forked import RAW, fork_server
from rewardsmith.services.sandbox.process import ForkedProcess

LIMITS = SandboxLimits(call_timeout_s=20.0, output_bytes=1_000_000)


def thief():
    text = Path(__file__).with_name("thief.py").read_text(encoding="utf-8")
    return text.replace("HOME_FOLDER", os.environ["HOME"])


def everything_from(process, rows):
    try:
        answer = process.call(rows)
    except CandidateError as error:
        return {"error": error.message, "printed": process.printed(limit=1_000_000)}
    return {
        "reward": answer.reward.tobytes().decode("latin1"),
        "components": {name: values.tobytes().decode("latin1") for name, values in answer.components.items()},
        "printed": process.printed(limit=1_000_000),
    }


def main(name, out_file):
    rows, said = made_rows(), {}
    with BACKENDS[name]() as sandbox:
        for case in load():
            if case.entry in ("checked", "raw"):
                raw = case.entry == "raw"
                source = case.raw_source(bounded=True) if raw else case.source
                try:
                    with sandbox.open(source, SPEC, case.limits, raw=raw) as process:
                        said[case.name] = everything_from(process, rows)
                except CandidateError as error:
                    said[case.name] = {"error": error.message}
        with sandbox.open(thief(), SPEC, LIMITS, raw=True) as process:
            said["thief"] = everything_from(process, rows)
    control = fork_server(LaunchHere(), (RAW,))
    with tempfile.TemporaryDirectory() as folder:
        process = ForkedProcess.start(control, thief(), SPEC, LIMITS, unlocked_in=Path(folder))
        with process:
            unlocked = everything_from(process, rows)
    control.close()
    Path(out_file).write_text(json.dumps({"locked": said, "unlocked": unlocked}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
