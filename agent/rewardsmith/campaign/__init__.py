"""Many runs at once: tasks x methods x seeds, each in a folder of its own, and the tables that they give."""
