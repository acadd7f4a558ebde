"""Sources of a state that a command names."""
