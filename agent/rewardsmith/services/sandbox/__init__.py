"""The box in which model-written code runs: one protocol, one backend a module."""
