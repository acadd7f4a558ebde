"""The node agent, which runs on each node.

This folder contains measurement, reports, enforcement and tasks of frameworks on one node. It
contains no decisions about other nodes.
"""
