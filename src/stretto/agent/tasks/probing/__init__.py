"""Checks and health checks of tasks: probes by commands, HTTP and TCP, and their schedules.

This folder does not contain the effect of a result on the task.
"""
