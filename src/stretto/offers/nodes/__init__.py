"""Nodes of a Kubernetes store as the agents of a master: one pool for pods, gangs and offers.

Here: agents, pods of tasks, claims in the ledger, queues as roles. Not here: the master.
"""
