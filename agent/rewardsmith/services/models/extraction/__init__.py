"""Gets reward code out of whatever a chat model really sends."""

from rewardsmith.services.models.extraction.choosing import Extracted, extract_code

__all__ = ["Extracted", "extract_code"]
