"""Capacity of clusters for a decision: promises, queues, nodes, and CPUs by model."""
