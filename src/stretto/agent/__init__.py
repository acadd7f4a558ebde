"""The node agent: what runs on a node.

Here belong measurement, reports, enforcement and tasks of frameworks on one node. Decisions about
other nodes do not.
"""
