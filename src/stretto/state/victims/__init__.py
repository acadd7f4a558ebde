"""The victim index: which pods a preemptor could evict on each node, by priority."""
