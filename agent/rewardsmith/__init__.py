"""From a sentence to a reward function for a Gymnasium environment, with evidence that it works."""

__version__ = "0.1.0"
