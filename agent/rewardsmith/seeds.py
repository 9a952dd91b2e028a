"""Seeds that depend on what they are for, never on the order in which they are asked for."""

import hashlib
from typing import Literal

Purpose = Literal["store", "propose", "validate", "train", "judge", "confirm", "final_train", "final_judge"]

_PURPOSES: tuple[Purpose, ...] = (
    "store",
    "propose",
    "validate",
    "train",
    "judge",
    "confirm",
    "final_train",
    "final_judge",
)
_BITS: int = 28
_ROOM = 1024


def derive_seed(run_seed: int, purpose: Purpose, key: str = "") -> int:
    """Return a seed below 2**31 for one purpose and structural key of a run.

    Seeds of different purposes never meet: the purpose fills the three highest bits, a hash of run seed
    and key the 28 below.
    """
    # Stable-Baselines3 gives the environments of a training the seeds from this one on.
    digest = hashlib.sha256(f"{run_seed}/{purpose}/{key}".encode()).digest()
    low_bits: int = int.from_bytes(digest[:8], "big") % ((1 << _BITS) - _ROOM)
    return (_PURPOSES.index(purpose) << _BITS) + low_bits


def episode_seeds(run_seed: int, purpose: Purpose, n_episodes: int, key: str = "") -> list[int]:
    """Return one environment seed for each of `n_episodes` episodes."""
    return [derive_seed(run_seed, purpose, f"{key}/episode{i}") for i in range(n_episodes)]
