"""The use of a machine and its pods: CPU, memory, pressure, IO, network.

Here belong readers of cgroups and of ``/proc``. Estimates for scheduling do not.
"""
