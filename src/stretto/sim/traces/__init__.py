"""Drivers that run a published trace in virtual time."""
