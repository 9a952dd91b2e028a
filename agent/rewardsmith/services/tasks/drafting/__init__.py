"""From facts about an environment to the draft of a task."""
