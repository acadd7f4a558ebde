"""NUMA alignment after Katalyst's plugin NodeResourceTopology: which nodes align a pod, how well.

The functions take zones and pods as values. The plugin of the engine has its own ledger of NUMA
nodes; this package computes the decisions of Katalyst's scheduler.
"""
