"""Validation with the texts of Mesos: each check returns the error, or None.

Here: functions of messages and of the state of the master. Not here: the consequences of an error.
"""
