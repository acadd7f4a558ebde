"""Queries on the state: capacity after evictions, domain caps, totals, invariants."""
