"""The trainer: environment, learner and judge of one task, in processes that never see reward source."""
