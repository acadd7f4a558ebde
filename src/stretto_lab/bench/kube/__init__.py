"""Benchmarks on a real API server, compared with kube-scheduler."""
