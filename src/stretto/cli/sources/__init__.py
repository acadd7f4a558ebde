"""What inspection commands read: the state that a command line names, and scenes of it."""
