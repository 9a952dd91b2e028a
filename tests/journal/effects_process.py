"""A process to be killed: runs 200 effects in parallel over the journal named on the command line."""

import sys
import time
from pathlib import Path

from rewardsmith.services.journal.journal import Effect, Journal

N_EFFECTS = 200


def effect(number: int) -> Effect:
    def run() -> dict[str, object]:
        time.sleep(0.001 * (number % 3))
        return {"square": number**2, "third": number / 3, "filling": "x" * 1500}

    return Effect(key=f"i00/c{number:03}/train", request={"number": number, "code": "y" * 1500}, run=run)


def run_all(path: Path) -> list[dict[str, object]]:
    with Journal(path) as journal:
        answers = journal.effects([effect(number) for number in range(N_EFFECTS)], workers=4)
        journal.decide("i00/stop", {"best": max(range(N_EFFECTS), key=lambda n: answers[n]["square"])})
    return answers


if __name__ == "__main__":
    run_all(Path(sys.argv[1]))
