"""The NumPy tier: the reference form of every kernel."""
