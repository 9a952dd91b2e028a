"""How a run that replays another one differs from it, which decides whether the answers will fit."""

from collections.abc import Iterator
from pathlib import Path

from rewardsmith.config import RunConfig
from rewardsmith.loop.setup import flat
from rewardsmith.services.journal.folder import RunFolder

_MAX_SHOWN = 8


def recorded_differences(config: RunConfig) -> Iterator[str]:
    """Yield lines for people about settings that the recorded run had otherwise.

    Answers are found again by their place in the run. With other settings there may be calls that were never
    made, or answers to other questions.
    """
    if config.model.recording is None:
        return
    recorded = RunFolder.open(Path(config.model.recording)).config
    now = config.model_dump(mode="json")
    differing = [key for key in ("task", "seed") if recorded.get(key) != now[key]]
    before = flat(recorded.get("method", {}))
    differing += [key for key, value in flat(now["method"]).items() if before.get(key) != value]
    if differing:
        shown = ", ".join(differing[:_MAX_SHOWN]) + (", ..." if len(differing) > _MAX_SHOWN else "")
        yield f"The recorded run had other settings ({shown}); its answers may not fit this one"
