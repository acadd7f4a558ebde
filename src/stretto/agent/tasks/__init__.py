"""Tasks of Mesos frameworks on this machine.

Here: the connection to a master, command tasks, health checks, status updates, recovery. Not here:
offers and validation, which are the master's.
"""
