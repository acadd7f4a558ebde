"""Profiles: which rules run with which weights and settings, and the guard around user rules."""
