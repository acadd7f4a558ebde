"""NUMA nodes: their layout, their amounts and the pods' allocations."""
