"""The scheduler: a shard turns units and a snapshot into a plan.

It never writes to a store and never changes the ledger.
"""
