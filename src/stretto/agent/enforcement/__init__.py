"""Enforcement: what best-effort pods of a node may use, and which of them are evicted.

Here belong pure functions from measurements to decisions. Reading and writing cgroups do not.
"""
