"""A Mesos master: frameworks, agents, tasks, operations and its HTTP interfaces.

This package contains the state machine, its validation, its answers and its server. The allocator
chooses the offers.
"""
