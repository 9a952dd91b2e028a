"""The embedded coder: a seeded evolutionary search over a grammar of reward terms."""

from rewardsmith.services.models.builtin.coder import BuiltinCoder

__all__ = ["BuiltinCoder"]
