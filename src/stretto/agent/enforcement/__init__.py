"""Enforcement: limits of best-effort pods of a node, and their evictions.

This folder contains pure functions from measurements to decisions. It does not read or write
cgroups.
"""
