"""Metrics of a plane, under kube-scheduler's names where the meaning is the same."""
