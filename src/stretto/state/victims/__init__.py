"""The victim index: the pods that a preemptor could evict on each node, by priority."""
