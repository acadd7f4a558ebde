"""Benchmarks beside a real API server, compared with kube-scheduler."""
