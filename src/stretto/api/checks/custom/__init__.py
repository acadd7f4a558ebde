"""Validation of custom resources against the schema of their definition."""
