"""Federations of real API servers."""
