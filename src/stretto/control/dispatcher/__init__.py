"""Who is next, and which shard tries it.

Lives here: the queue orders, forming units, partitions of the nodes, the choice
of a shard, back-off and the retry of what an event has cured.
Must not: look at a node's free resources, or import the scheduler or the binder.
"""
