"""Trajectories as bytes and back: one npz with flat arrays, no pickles."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewardsmith.arrays import dump_arrays, load_arrays
from rewardsmith.types import Trajectory

_OPTIONAL_FLAG = {None: -1, False: 0, True: 1}


def dump_trajectories(trajectories: Sequence[Trajectory]) -> bytes:
    """Return the trajectories as npz; the same trajectories give the same bytes."""
    meta = [
        {
            "length": len(t),
            "terminated": t.terminated,
            "fitness": t.fitness,
            "progress": t.progress,
            "success": _OPTIONAL_FLAG[t.success],
            "success_last": _OPTIONAL_FLAG[t.success_last],
            "origin": t.origin,
        }
        for t in trajectories
    ]
    arrays = {
        "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
        "state": np.concatenate([t.state for t in trajectories]),
        "action": np.concatenate([t.action for t in trajectories]),
    }
    return dump_arrays(arrays)


def load_trajectories(data: bytes) -> list[Trajectory]:
    """Return the trajectories of `dump_trajectories`."""
    flag: dict[int, bool | None] = {number: value for value, number in _OPTIONAL_FLAG.items()}
    arrays = load_arrays(data)
    meta: list[dict[str, Any]] = json.loads(arrays["meta"].tobytes())
    state, action = arrays["state"], arrays["action"]
    trajectories, states_at, actions_at = [], 0, 0
    for row in meta:
        length = row["length"]
        trajectories.append(
            Trajectory(
                state=state[states_at : states_at + length + 1],
                action=action[actions_at : actions_at + length],
                terminated=row["terminated"],
                fitness=row["fitness"],
                progress=row["progress"],
                success=flag[row["success"]],
                success_last=flag[row["success_last"]],
                origin=row["origin"],
            )
        )
        states_at += length + 1
        actions_at += length
    return trajectories
