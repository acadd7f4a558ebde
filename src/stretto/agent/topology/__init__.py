"""The topology of a machine: processors, NUMA nodes, caches, GPUs, network devices.

Here belong readers of sysfs and of the NVIDIA library. Use over time does not.
"""
