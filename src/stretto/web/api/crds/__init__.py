"""Definitions of custom resources: what they serve, their life, their objects."""
