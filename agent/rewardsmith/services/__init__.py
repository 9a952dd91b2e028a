"""Services that the stages use: models, sandbox, executor, journal, tasks."""
