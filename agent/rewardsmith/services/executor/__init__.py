"""Where trainings run."""
