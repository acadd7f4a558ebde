"""What a state that a command names is read from."""
