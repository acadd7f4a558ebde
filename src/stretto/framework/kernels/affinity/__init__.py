"""Compiled kernels for pods with inter-pod rules."""
