"""Checks and health checks of tasks: probes by commands, HTTP and TCP, and their schedules.

Not here: what a result means for the task.
"""
