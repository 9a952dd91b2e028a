"""The run folder and what makes it resumable: the journal, the object store and the budgets."""
