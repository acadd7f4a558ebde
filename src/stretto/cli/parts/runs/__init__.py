"""A run of a scenario: its input and its metrics."""
