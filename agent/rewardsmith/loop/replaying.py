"""How a run that replays another one differs from it, which decides whether the answers will fit."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rewardsmith.config import RunConfig
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
    differing += _keys(recorded.get("method", {}), now["method"])
    if differing:
        shown = ", ".join(differing[:_MAX_SHOWN]) + (", ..." if len(differing) > _MAX_SHOWN else "")
        yield f"The recorded run had other settings ({shown}); its answers may not fit this one"


def _keys(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys of a method that differ."""
    return [
        f"{part}.{key}"
        for part, keys in now.items()
        if isinstance(keys, dict)
        for key, value in keys.items()
        if recorded.get(part, {}).get(key) != value
    ]
