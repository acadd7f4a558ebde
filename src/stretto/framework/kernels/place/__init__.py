"""Compiled kernels: scores of slots and blocks, rows of classes, and the placement loop."""
