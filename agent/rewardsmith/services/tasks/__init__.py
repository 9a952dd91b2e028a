"""Tasks: what an agent should do, in which environment, how it is measured and trained."""
