"""NUMA alignment after Katalyst's plugin NodeResourceTopology: filter and score of nodes for a pod.

Zones and pods are values. The plugin of the engine has its own ledger of NUMA nodes; this package
computes the decisions of Katalyst's scheduler.
"""
