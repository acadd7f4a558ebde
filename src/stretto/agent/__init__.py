"""The node agent: what runs on each machine.

Here: tasks of frameworks. Not here: the decisions which machine runs what.
"""
