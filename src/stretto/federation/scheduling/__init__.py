"""Scheduling of clusters: feasible clusters of a workload, and the selection among them.

This package contains filters, scores and selections over columns of clusters, and profiles that
combine them. Division of replicas is in `planner`.
"""
