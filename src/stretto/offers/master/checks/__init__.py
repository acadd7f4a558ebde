"""Validation with Mesos' texts; each check returns the error, or ``None``.

This package contains functions of messages and of the master's state. It does not contain the
consequences of an error.
"""
