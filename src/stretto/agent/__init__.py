"""The node agent, which runs on each node.

Here belong measurement, reports, enforcement and tasks of frameworks on one node. Decisions about
other nodes do not.
"""
