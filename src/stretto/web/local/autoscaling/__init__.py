"""Metrics of a local cluster, and what scales its workloads by them."""
