"""A Mesos master: frameworks, agents, tasks, operations and its HTTP interfaces.

Here: the state machine, its validation, its answers and its server. Not here: the choice of offers.
"""
