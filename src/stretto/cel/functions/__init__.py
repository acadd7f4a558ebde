"""Implementations of the functions that ``language.declarations`` declares."""
