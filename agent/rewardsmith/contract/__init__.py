"""The reward contract: state layout, what reward code may say, and how it is written down."""
