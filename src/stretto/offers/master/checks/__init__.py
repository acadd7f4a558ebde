"""Validation with the texts of Mesos: each check returns the error, or None.

Here: functions of messages and of what the master knows. Not here: the consequences of an error.
"""
