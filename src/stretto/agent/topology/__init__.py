"""The topology of a machine: processors, NUMA nodes, caches, GPUs, network devices.

This folder contains readers of sysfs and of the NVIDIA library. Use over time is in
``agent.usage``.
"""
