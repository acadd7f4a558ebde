"""Benchmarks of the engine on this machine."""
