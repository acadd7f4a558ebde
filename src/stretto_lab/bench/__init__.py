"""Benchmarks: the engine, its ablations, a master of offers, schedulers on a real API server."""
