"""Preemption: selection of the pods to evict so that a pending pod or gang fits."""
