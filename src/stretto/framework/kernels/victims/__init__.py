"""Compiled kernels that search for preemption victims."""
