"""Enforcement: limits of best-effort pods of a node, and their evictions.

Here belong pure functions from measurements to decisions. Reading and writing cgroups do not.
"""
