"""Questions about the state: what fits after evictions, domain caps, totals, invariants."""
