"""The stages of an iteration; each knows its services and nothing of the loop."""
