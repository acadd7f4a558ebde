"""Profiles: the rules with their weights and settings, and the guard around user rules."""
