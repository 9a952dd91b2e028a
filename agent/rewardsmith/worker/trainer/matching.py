"""Which numbers of an observation are joint positions, joint velocities or positions of bodies in MuJoCo."""

from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from rewardsmith.types import FloatArray

_JOINT_TYPES = ("free", "ball", "slide", "hinge")
_TOLERANCE = 1e-5
"""Relative; observations are often float32."""
_MIN_SPREAD = 1e-9


@dataclass
class MujocoRecord:
    """What the simulator held at every moment at which its environment was observed.

    Attributes:
        model: the environment's `mjModel`.
        data: its `mjData`.
    """

    model: Any
    data: Any
    _rows: list[FloatArray] = field(default_factory=list)

    @staticmethod
    def of(env: gym.Env[Any, Any]) -> "MujocoRecord | None":
        """Return a record for a MuJoCo environment, None for another."""
        inner = env.unwrapped
        model, data = getattr(inner, "model", None), getattr(inner, "data", None)
        if not (hasattr(model, "jnt_qposadr") and hasattr(data, "qpos")):
            return None
        return MujocoRecord(model, data)

    def note(self) -> None:
        """Keep the present moment."""
        data = self.data
        parts = (data.qpos, data.qvel, data.site_xpos, data.xpos)
        self._rows.append(np.concatenate([np.ravel(part) for part in parts]))

    def matches(self, seen: FloatArray) -> list[str | None]:
        """Return for each column of observations `(n, k)` the simulator's number that it equals, or None.

        A number is named `qpos[i]`, `qvel[i]`, `site.NAME[i]` or `body.NAME[i]`; what never changes has no
        match, since too much would.
        """
        rows, labels = np.stack(self._rows), self._labels()
        spread = np.ptp(rows, axis=0)
        found: list[str | None] = []
        for column in seen.T:
            scale = max(float(np.abs(column).max()), 1.0)
            gap = np.abs(rows - column[:, None]).max(axis=0)
            same = (gap <= _TOLERANCE * scale) & (spread > _MIN_SPREAD)
            found.append(labels[int(np.argmax(same))] if same.any() else None)
        return found

    def names(self) -> dict[str, Any]:
        """Return the model's joints with their place in qpos and qvel, and its named bodies and sites."""
        model = self.model
        return {
            "joints": [
                {
                    "name": model.joint(i).name,
                    "type": _JOINT_TYPES[int(model.jnt_type[i])],
                    "qpos": int(model.jnt_qposadr[i]),
                    "qvel": int(model.jnt_dofadr[i]),
                }
                for i in range(model.njnt)
            ],
            "bodies": [name for i in range(1, model.nbody) if (name := model.body(i).name)],
            "sites": [name for i in range(model.nsite) if (name := model.site(i).name)],
        }

    def _labels(self) -> list[str]:
        model = self.model
        sites = [model.site(i).name or f"#{i}" for i in range(model.nsite)]
        bodies = [model.body(i).name or f"#{i}" for i in range(model.nbody)]
        return [
            *(f"qpos[{i}]" for i in range(model.nq)),
            *(f"qvel[{i}]" for i in range(model.nv)),
            *(f"site.{name}[{axis}]" for name in sites for axis in range(3)),
            *(f"body.{name}[{axis}]" for name in bodies for axis in range(3)),
        ]
