"""The one loop that every method configures."""
