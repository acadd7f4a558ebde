"""Scheduling of clusters: which clusters may run a workload, and which of them do.

Here belong filters, scores and selections over columns of clusters, and profiles that combine them.
Division of replicas does not: it is in `planner`.
"""
