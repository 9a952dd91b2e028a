"""Who writes reward code: language models, recordings, and the built-in evolutionary search."""
