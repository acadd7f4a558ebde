"""Reclaim: how much of the requested but unused capacity other pods may use.

Here belong estimators over one node or a fleet. Enforcement on a node does not.
"""
