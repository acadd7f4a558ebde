"""Published experiments, repeated in virtual time."""
