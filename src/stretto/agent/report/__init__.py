"""The report of a node: the CustomNodeResource that the scheduler reads.

This folder contains the tree of zones, the measured use and the write of the report. It contains no
readers of reports.
"""
