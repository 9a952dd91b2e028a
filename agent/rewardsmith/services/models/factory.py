"""Coders by the name of their model."""

from pathlib import Path

from rewardsmith.config import ModelConfig, ProposeConfig
from rewardsmith.services.chat.names import BUILTIN
from rewardsmith.services.chat.record import Recording
from rewardsmith.services.models.base import Coder


def open_coder(model: ModelConfig, propose: ProposeConfig) -> Coder:
    """Return the coder that writes rewards with `model`.

    Args:
        model: `builtin`, a language model, or a recording of one.
        propose: how proposals are asked for.

    Raises:
        RunFolderError: a recorded run is gone or damaged.
    """
    if model.name == BUILTIN:
        from rewardsmith.services.models.builtin import BuiltinCoder

        return BuiltinCoder(propose)
    from rewardsmith.services.models.llm.coder import LanguageModelCoder

    coder = LanguageModelCoder(model, propose)
    if model.recording is not None:
        coder.preferred_candidates = Recording(Path(model.recording)).candidates
    return coder
