"""Input of inspection commands: the state of the command line, and scenes of it."""
