"""NUMA nodes: their layout, what each has and what pods hold of it."""
