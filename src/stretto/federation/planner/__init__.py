"""Planners: replicas of each cluster, and the order in which they change.

This package contains pure functions from values to values. It contains no I/O, no clocks and no
objects of Kubernetes.
"""
