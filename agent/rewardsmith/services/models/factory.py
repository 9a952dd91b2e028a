"""Coders by name."""

from rewardsmith.errors import ConfigError
from rewardsmith.services.models.base import Coder


def open_coder(model: str) -> Coder:
    """Return the coder named `model`.

    Raises:
        ConfigError: there is none of this name.
    """
    if model == "builtin":
        from rewardsmith.services.models.builtin import BuiltinCoder

        return BuiltinCoder()
    raise ConfigError(f"unknown model {model!r}; this version knows: builtin")
