"""The state of a master: frameworks, agents, tasks, offers, machines, and unsent messages.

This package contains objects that own their fields, and tables of them. It contains no decisions
and no texts of answers.
"""
