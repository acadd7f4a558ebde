"""Compiled kernels for units that are placed in a given set of slots, including NUMA nodes."""
