"""Tasks of Mesos frameworks on this machine.

This folder contains the connection to a master, command tasks, health checks, status updates and
recovery. The master contains offers and validation.
"""
