"""The coder that asks a language model."""
