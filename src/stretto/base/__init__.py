"""Generic building blocks: clocks, seeded randomness, the error tree, state machines, registries.

This package contains no scheduling logic, imports no other part of Stretto and does no I/O. Only
`clock` reads the time.
"""
