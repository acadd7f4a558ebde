"""Compiled kernels for units that are placed inside a given set of slots, NUMA nodes included."""
