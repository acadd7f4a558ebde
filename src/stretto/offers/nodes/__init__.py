"""Nodes of a Kubernetes store as the agents of a master: one pool for pods, gangs and offers.

This package contains agents, pods of tasks, claims in the ledger, and queues as roles. It does not
contain the master.
"""
