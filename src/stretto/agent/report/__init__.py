"""The report of a node: the CustomNodeResource that the scheduler reads.

Here belong the tree of zones, the measured use and the one write per report. Readers do not.
"""
