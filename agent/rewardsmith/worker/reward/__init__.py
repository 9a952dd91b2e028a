"""The reward process: Python, NumPy, this package and one candidate's source, behind a lock."""
