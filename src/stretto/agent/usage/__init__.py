"""The use of a machine and its pods: CPU, memory, pressure, IO, network.

This folder contains readers of cgroups and of ``/proc``. It contains no estimates for scheduling.
"""
