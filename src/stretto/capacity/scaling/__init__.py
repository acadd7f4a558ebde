"""Scaling: the number of replicas of a workload, their groups, and the number of nodes.

This folder contains metrics, limits, groups and forecasts, but no placement.
"""
