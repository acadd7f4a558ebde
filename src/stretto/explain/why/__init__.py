"""Reasons why a pod is pending, its possible nodes, the nearest nodes and cures."""
