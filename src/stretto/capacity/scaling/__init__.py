"""Scaling: how many replicas a workload runs, in which group, and on how many nodes.

Here belong metrics, limits, groups and forecasts. Placement does not.
"""
