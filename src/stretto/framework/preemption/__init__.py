"""Preemption: which pods to evict so that a pending pod or gang fits."""
