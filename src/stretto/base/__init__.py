"""Generic building blocks: clocks, seeded randomness, the error tree, state machines, registries.

This package knows nothing about scheduling, imports no other part of Stretto and does no I/O; only
`clock` reads the time.
"""
